import { existsSync, realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { privateFile, syncAtOnce } from '../../files.ts';
import { shareCalls } from '../../time/share-calls.ts';
import { LONGEST_LEASE, LogReplacedError, LostRecordError, type Store } from '../store.ts';
import { appendTransaction, existingFile, openReader, openWriter, prepareQuery } from './connection.ts';
import { aboutStore, integrityFault } from './damage.ts';
import { sqliteErasures } from './erasures.ts';
import { sqliteEvents } from './events.ts';
import { sqliteReadModel } from './read-model/read-model.ts';
import { type SqliteSnapshot, sqliteSnapshot } from './read-model/snapshot.ts';
import { ReadQueue } from './read-queue.ts';
import { checkObjects, checkSchema, ensureSchema, SCHEMA_VERSION, standInForDropped, versionOf } from './schema.ts';
import { truncateAtOnce, WriteAheadLog } from './write-ahead-log.ts';

/** File name of the database in the data directory. */
export const DATABASE_FILE = 'plantstore.sqlite';

const LEASE = `INSERT INTO leases (name, holder, until) VALUES (:name, :holder, :until)
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
  WHERE holder = excluded.holder OR until <= :now OR until > :now + ${LONGEST_LEASE}`;

/** How to open a store. */
export interface SqliteOptions {
  /** Creates and changes nothing. Methods that write reject. */
  readonly readOnly?: boolean;
  /** No other process appends while the store is open, as lockDataDirectory ensures. */
  readonly alone?: boolean;
  /**
   * Milliseconds to wait for a lock of another process; nothing else happens in this one meanwhile. Otherwise
   * BUSY_TIMEOUT.
   */
  readonly timeout?: number;
}

/**
 * Opens the store in a data directory, and creates it if missing. Throws with the reason when there is nothing to read,
 * when a newer release wrote the data, or when it is to be written to and its schema is not that of this release;
 * DamagedStoreError when the database is damaged.
 */
export function openSqlite(directory: string, options: SqliteOptions = {}): Store {
  const path = options.readOnly ? existingFile(directory, DATABASE_FILE) : privateFile(directory, DATABASE_FILE);
  try {
    return openDatabase(path, options);
  } catch (error) {
    throw aboutStore(path, error);
  }
}

function openDatabase(path: string, { readOnly = false, alone = false, timeout }: SqliteOptions): Store {
  const openToRead = readOnly ? openDamaged : openReader;
  const db = readOnly ? openToRead(path, timeout) : openWriter(path, timeout);
  try {
    // It may be as long as a process left it that died.
    if (alone) truncateAtOnce(path);
    if (!readOnly) ensureSchema(db);
    checkSchema(db, path);
    if (readOnly) syncLeftOver(path);
    else checkObjects(db, path);
    return sqliteStore(path, db, alone, () => openToRead(path));
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Writes to the disk what a process that was killed has written last, and whoever may only read has found: before this
 * a power cut could undo what is signed of it.
 */
function syncLeftOver(path: string): void {
  const writeAheadLog = `${realpathSync(path)}-wal`;
  if (existsSync(writeAheadLog)) syncAtOnce(writeAheadLog);
}

/** Opens a database for reading, whatever it lacks beside its events. */
function openDamaged(path: string, timeout?: number): DatabaseSync {
  const db = openReader(path, timeout);
  try {
    if (versionOf(db) === SCHEMA_VERSION) standInForDropped(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * The log and the read model in one SQLite database: the methods of its parts. SQLite is synchronous, so methods of one
 * thread never overlap: a transaction is over when its method returns. Those of the publisher's thread, which has
 * connections of its own, do overlap, as those of another process.
 */
function sqliteStore(path: string, db: DatabaseSync, alone: boolean, openToRead: () => DatabaseSync): Store {
  const snapshots = new Set<SqliteSnapshot>();
  const writeAheadLog = new WriteAheadLog(path, db, snapshots, alone);
  const reads = new ReadQueue();
  /**
   * Look-ups by key have a queue of their own, and so a share of each turn: commits need them, however much is listed.
   */
  const lookUps = new ReadQueue();
  const takeLease = db.prepare(LEASE);
  const findLease = db.prepare('SELECT 1 FROM leases WHERE name = ?');
  const selectId = prepareQuery(db, 'SELECT id FROM log');
  // A repair, which is never alone, needs its snapshot to the end.
  const onAdvanced = () => alone && writeAheadLog.bound();
  return {
    name: `SQLite ${resolve(path)}`,
    advanceLimit: 256,
    /** Each has three file descriptors and a small cache. */
    maxSnapshots: 64,
    ...sqliteEvents(db, reads, lookUps, alone ? keptFiles(path) : () => {}),
    ...sqliteReadModel(db, reads, lookUps, onAdvanced),
    ...sqliteErasures(db, writeAheadLog),

    async logId() {
      const row = ifThere('log', () => selectId.get() as [string] | undefined);
      if (row === undefined) throw new LostRecordError('the id of its log', 'the row of log');
      return row[0];
    },

    async ownerKey(renew = false) {
      return appendTransaction(db, () => {
        if (renew) db.exec('DELETE FROM owner_key');
        db.exec('INSERT INTO owner_key SELECT randomblob(32) WHERE NOT EXISTS (SELECT * FROM owner_key)');
        return db.prepare('SELECT key FROM owner_key').get()!.key as Uint8Array;
      });
    },

    async lease(name, holder, milliseconds) {
      const now = Date.now();
      // One that is given back is over whatever the clock says later.
      const until = milliseconds === 0 ? 0 : now + milliseconds;
      return takeLease.run({ name, holder, until, now }).changes === 1;
    },

    async leaseholder() {
      return undefined;
    },

    async wasLeased(name) {
      return findLease.get(name) !== undefined;
    },

    waitBeforeLongRead: () => writeAheadLog.waitBeforeLongRead(),

    async snapshot() {
      const snapshot = sqliteSnapshot(openToRead(), reads, (closed) => snapshots.delete(closed));
      snapshots.add(snapshot);
      return snapshot;
    },

    cleared: () => writeAheadLog.cleared(),

    /** One at a time, since a check cannot be ended: between two of them the write-ahead log can be truncated. */
    fault: shareCalls(async () => {
      await writeAheadLog.waitBeforeLongRead();
      return integrityFault(path);
    }),

    async missingRights() {
      return { service: [], erasure: [] };
    },

    async close() {
      await writeAheadLog.settled();
      if (!db.isOpen) return;
      for (const snapshot of snapshots) await snapshot.close();
      db.close();
    },
  };
}

/**
 * Throws when a database or its write-ahead log is no longer the file that it is now. Other processes would never see
 * what is written to that, and a killed process would lose it.
 */
function keptFiles(path: string): () => void {
  // SQLite has it beside the database, and not beside a link that leads there.
  const files = [path, `${realpathSync(path)}-wal`].map((file) => ({ file, inode: inodeOf(file) }));
  return () => {
    for (const kept of files) {
      const inode = inodeOf(kept.file);
      kept.inode ??= inode;
      if (inode !== kept.inode) throw new LogReplacedError(`${kept.file} was replaced or removed`);
    }
  };
}

const inodeOf = (file: string): number | undefined => statSync(file, { throwIfNoEntry: false })?.ino;

/** What is read from a table. Undefined: the table is gone, or the row. */
function ifThere<T>(table: string, read: () => T | undefined): T | undefined {
  try {
    return read();
  } catch (error) {
    if ((error as Error).message === `no such table: ${table}`) return undefined;
    throw error;
  }
}
