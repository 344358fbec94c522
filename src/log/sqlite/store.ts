import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { IdempotencyKey } from '../../domain/idempotency.ts';
import type { Plant, PlantKey } from '../../domain/plant.ts';
import { privateFile } from '../../files.ts';
import { shareCalls } from '../../time/share-calls.ts';
import { searched } from '../batches.ts';
import { verifyNext } from '../event/chain.ts';
import { type Head, keysOf, type LoggedEvent } from '../event/event.ts';
import {
  type Changes,
  type FirstRows,
  LostRecordError,
  type Nodes,
  type PlantRow,
  RefusedAppendError,
  type Rows,
  type Selection,
  type Snapshot,
  type Store,
  type Unfinished,
} from '../store.ts';
import { LogChangedError } from '../tail/follower.ts';
import { storedHash } from '../tree/nodes.ts';
import { firstRows, tableBatches } from './batches.ts';
import { existingFile, isUnwritten, openReader, openWriter, transaction } from './connection.ts';
import { aboutStore, integrityFault } from './damage.ts';
import { SqliteErasures } from './erasures.ts';
import { eventsIn, eventsOf, eventsWithKeysOf, headIn, valuesOf } from './events.ts';
import { applyChanges, hasRows, moveCheckpoint, removeRows } from './read-model/changes.ts';
import { plantOf, plantsIn } from './read-model/rows.ts';
import { SqliteSnapshot, standingOf } from './read-model/snapshot.ts';
import { ReadQueue } from './read-queue.ts';
import { checkObjects, checkSchema, ensureSchema, SCHEMA_VERSION, standInForDropped, versionOf } from './schema.ts';
import { INSERT_EVENT, INSERT_KEY, prepareLog, prepareProjector } from './statements.ts';
import { truncateAtOnce, WriteAheadLog } from './write-ahead-log.ts';

/** File name of the database in the data directory. */
export const DATABASE_FILE = 'plantstore.sqlite';

/** Above every position. */
const MAX_POSITION = Number.MAX_SAFE_INTEGER;

/** Positions searched at once: a few milliseconds of the event loop. */
const SEARCHED = 2_000;

/** Keys that are looked up at once: a millisecond, with the longest texts. */
const KEYS = 16;

/** How to open a store. */
export interface SqliteOptions {
  /** Creates and changes nothing. Methods that write reject. */
  readonly readOnly?: boolean;
  /** No other process appends while the store is open, as lockDataDirectory ensures. */
  readonly alone?: boolean;
  /** Milliseconds to wait for a lock of another process; nothing else happens in this one meanwhile. Otherwise BUSY_TIMEOUT. */
  readonly timeout?: number;
}

/**
 * Opens the store in a data directory, and creates it if missing. Throws with the reason when there is nothing to read,
 * when a newer release wrote the data, or when it is to be written to and lacks a trigger or an index; DamagedStoreError
 * when the database is damaged.
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
  const log = readOnly ? openToRead(path, timeout) : openWriter(path, 'FULL', timeout);
  try {
    // It may be as long as a process left it that died.
    if (alone) truncateAtOnce(path);
    if (!readOnly) ensureSchema(log);
    checkSchema(log, path);
    if (!readOnly) checkObjects(log, path);
    const projecting = readOnly ? openToRead(path, timeout) : openWriter(path, 'NORMAL', timeout);
    // A power cut may undo the projector's last steps, which are then repeated. The log cannot lose more: both are in
    // one write-ahead log, which loses only its end, and each append syncs all of it.
    return new SqliteStore(path, log, projecting, alone, () => openToRead(path));
  } catch (error) {
    log.close();
    throw error;
  }
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
 * The log and the read model in one SQLite database. SQLite is synchronous, so methods of one thread never overlap: a
 * transaction is over when its method returns. Those of the publisher's thread, which has connections of its own, do
 * overlap, as those of another process.
 */
class SqliteStore implements Store {
  readonly name: string;
  readonly advanceLimit = 256;
  /** Each has three file descriptors and a small cache. */
  readonly maxSnapshots = 64;
  readonly #path: string;
  readonly #openToRead: () => DatabaseSync;
  readonly #appending: DatabaseSync;
  readonly #projecting: DatabaseSync;
  readonly #reads = new ReadQueue();
  /** Look-ups by key have a queue of their own, and so a share of each turn: commits need them, however much is listed. */
  readonly #lookUps = new ReadQueue();
  readonly #log: ReturnType<typeof prepareLog>;
  readonly #projector: ReturnType<typeof prepareProjector>;
  /** Prepared by the first append: a read-only connection cannot. */
  #insert: { readonly event: StatementSync; readonly key: StatementSync } | undefined;
  readonly #snapshots = new Set<SqliteSnapshot>();
  readonly #writeAheadLog: WriteAheadLog;
  readonly #erasures: SqliteErasures;
  readonly #alone: boolean;
  readonly #file: number;

  constructor(
    path: string,
    appending: DatabaseSync,
    projecting: DatabaseSync,
    alone: boolean,
    openToRead: () => DatabaseSync,
  ) {
    this.#alone = alone;
    this.#openToRead = openToRead;
    this.#path = path;
    this.name = `SQLite ${resolve(path)}`;
    this.#file = statSync(path).ino;
    this.#appending = appending;
    this.#projecting = projecting;
    this.#writeAheadLog = new WriteAheadLog(path, appending, this.#snapshots, alone);
    this.#erasures = new SqliteErasures(appending, projecting, this.#writeAheadLog);
    this.#log = prepareLog(appending);
    this.#projector = prepareProjector(projecting);
  }

  async logId(): Promise<string> {
    const row = this.#logId();
    if (row === undefined) throw new LostRecordError('the id of its log', 'the row of log');
    return row[0];
  }

  /** Undefined: the row is gone, or its table. */
  #logId(): [string] | undefined {
    try {
      return this.#log.logId.get() as [string] | undefined;
    } catch (error) {
      if ((error as Error).message === 'no such table: log') return undefined;
      throw error;
    }
  }

  async ownerKey(renew = false): Promise<Uint8Array> {
    return written(this.#appending, () => {
      if (renew) this.#appending.exec('DELETE FROM owner_key');
      this.#appending.exec('INSERT INTO owner_key SELECT randomblob(32) WHERE NOT EXISTS (SELECT * FROM owner_key)');
      return this.#appending.prepare('SELECT key FROM owner_key').get()!.key as Uint8Array;
    });
  }

  async head(): Promise<Head> {
    if (this.#alone) this.#checkFile();
    return headIn(this.#log.head);
  }

  /**
   * Throws when the open file is no longer the one in the directory. Other processes would never see what is written to
   * it.
   */
  #checkFile(): void {
    if (statSync(this.#path, { throwIfNoEntry: false })?.ino !== this.#file)
      throw new LogChangedError(`${this.#path} was replaced or removed`);
  }

  read(after: number, only: Selection = {}): AsyncIterable<LoggedEvent[]> {
    const { to = MAX_POSITION, owner, id, erasures, checksKeys } = only;
    if (owner !== undefined || id !== undefined)
      return searched({ head: () => this.head() }, after, to, SEARCHED, (from, end) => {
        const found = eventsIn((last, limit) =>
          eventsOf(this.#log.search, last, end, owner ?? null, id ?? null, Number(erasures ?? false), limit),
        );
        return tableBatches(this.#reads, owner, found, from);
      });
    const rows = (position: number, limit: number) =>
      checksKeys
        ? eventsWithKeysOf(this.#log.readWithKeys, position, to, limit)
        : eventsOf(this.#log.read, position, to, limit);
    return tableBatches(this.#reads, undefined, eventsIn(rows), after);
  }

  /**
   * Appends all events or none. After most errors the outcome is unknown: if a commit fails during its sync, the recovery
   * after a crash may still find it, unless a later append replaced it.
   */
  async append(events: readonly LoggedEvent[]): Promise<number> {
    return written(this.#appending, () => {
      const head = headIn(this.#log.head);
      if (head.position >= events[0]!.position) return 0;
      // Under the write lock, the log cannot change after this check.
      verifyNext(head, events[0]!);
      events.forEach((event, index) => {
        if (event.position !== head.position + index + 1)
          throw new RangeError(`position ${event.position} does not follow ${head.position + index}`);
        this.#write(event);
      });
      return events.length;
    });
  }

  #write(event: LoggedEvent): void {
    this.#insert ??= { event: this.#appending.prepare(INSERT_EVENT), key: this.#appending.prepare(INSERT_KEY) };
    this.#insert.event.run(...valuesOf(event));
    const { owner, idempotencyKey } = keysOf(event);
    if (idempotencyKey !== undefined) this.#insert.key.run(owner!, idempotencyKey, event.position);
  }

  async findByIdempotencyKeys(keys: readonly IdempotencyKey[]): Promise<(LoggedEvent | undefined)[]> {
    return this.#each(keys, ({ owner, idempotencyKey }) => eventsOf(this.#log.named, owner, idempotencyKey)[0]);
  }

  async checkpoint(): Promise<number> {
    return standingOf(this.#log.checkpoint).checkpoint;
  }

  async generation(): Promise<number> {
    return standingOf(this.#log.checkpoint).generation;
  }

  async get(keys: readonly PlantKey[]): Promise<Rows<Plant | undefined>> {
    const before = standingOf(this.#log.checkpoint);
    const rows = await this.#each(keys, ({ owner, id }) => plantOf(this.#log.plant, owner, id));
    const { upTo } = standingOf(this.#log.checkpoint);
    return { rows, ...before, upTo };
  }

  /** What is found for each key, a few keys at a time. Each call is a lane: one of few keys waits for few of the rest. */
  async #each<Key, Found>(keys: readonly Key[], find: (key: Key) => Found): Promise<Found[]> {
    const found: Found[] = [];
    for (let from = 0; from < keys.length; from += KEYS)
      await this.#lookUps.do(keys, () => {
        for (const key of keys.slice(from, from + KEYS)) found.push(find(key));
      });
    return found;
  }

  list(owner: string, after: bigint | undefined, limit: number): Promise<FirstRows<PlantRow>> {
    return this.#reads.do(owner, () => {
      const before = standingOf(this.#log.checkpoint);
      const { rows, whole } = firstRows(plantsIn(this.#log.plants, owner), after, limit);
      const { upTo } = standingOf(this.#log.checkpoint);
      return { rows, whole, ...before, upTo };
    });
  }

  mayRead(): Promise<void> {
    return this.#writeAheadLog.mayRead();
  }

  async snapshot(): Promise<Snapshot> {
    const snapshot = new SqliteSnapshot(this.#openToRead(), this.#reads, (closed) => this.#snapshots.delete(closed));
    this.#snapshots.add(snapshot);
    return snapshot;
  }

  async advance(from: number | undefined, to: number | undefined, changes: Changes, nodes: Nodes): Promise<boolean> {
    const isDone = transaction(this.#projecting, () => {
      if (hasRows(this.#projector.changes, changes.erased)) return false;
      if (!moveCheckpoint(this.#projector.changes, from, to)) return false;
      applyChanges(this.#projector.changes, changes, nodes);
      return true;
    });
    // A repair, which is never alone, needs its snapshot to the end.
    if (this.#alone) this.#writeAheadLog.bound();
    return isDone;
  }

  async removeRows(owner: string, checkpoint: number): Promise<number> {
    return transaction(this.#projecting, () => removeRows(this.#projector.changes, owner, checkpoint));
  }

  async nodes(start: number, end: number): Promise<Uint8Array[]> {
    const rows = this.#log.nodes.all(start, end) as unknown as [bigint, Uint8Array][];
    const gap = rows.findIndex(([node], at) => Number(node) !== start + at);
    return rows.slice(0, gap < 0 ? rows.length : gap).map(([, hash], at) => storedHash(start + at, hash));
  }

  async nodeCount(): Promise<number> {
    return Number((this.#log.nodeCount.get() as unknown as [bigint])[0]);
  }

  async lease(name: string, holder: string, milliseconds: number): Promise<boolean> {
    const now = Date.now();
    return this.#projector.lease.run({ name, holder, until: now + milliseconds, now }).changes === 1;
  }

  async leaseholder(): Promise<undefined> {}

  async unfinished(): Promise<readonly Unfinished[]> {
    return eventsOf(this.#log.unfinished) as Unfinished[];
  }

  async mayErase(): Promise<void> {}

  readonly eraseContents: Store['eraseContents'] = (owner, by) => this.#erasures.eraseContents(owner, by);
  readonly clearErased: Store['clearErased'] = (positions) => this.#erasures.clear(positions);
  readonly erasurePublished: Store['erasurePublished'] = (...of) => this.#erasures.published(...of);
  readonly endErasures: Store['endErasures'] = (...of) => this.#erasures.end(...of);

  cleared(): Promise<void> {
    return this.#writeAheadLog.cleared();
  }

  /** One at a time, since a check cannot be ended: between two of them the write-ahead log can be truncated. */
  readonly fault = shareCalls(async () => {
    await this.#writeAheadLog.mayRead();
    return integrityFault(this.#path);
  });

  async close(): Promise<void> {
    await this.#writeAheadLog.settled();
    if (!this.#appending.isOpen) return;
    for (const snapshot of this.#snapshots) await snapshot.close();
    this.#projecting.close();
    this.#appending.close();
  }
}

/** Like `transaction`, but throws RefusedAppendError where the disk is full. */
function written<T>(db: DatabaseSync, work: () => T): T {
  try {
    return transaction(db, work);
  } catch (error) {
    throw isUnwritten(error) ? new RefusedAppendError('the disk of the store is full', { cause: error }) : error;
  }
}
