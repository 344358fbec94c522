import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { PlantStoreError } from '../../domain/errors.ts';
import { monotonic } from '../../time/host.ts';
import { pause } from '../../time/pause.ts';
import { openWriter, transaction } from './connection.ts';
import type { SqliteSnapshot } from './read-model/snapshot.ts';

/**
 * Bytes above which the log is truncated while snapshots are open: to copy them takes the event loop about a second.
 */
const MAX_BYTES = 256 * 1024 * 1024;

/** Milliseconds that a snapshot may go on which keeps the log from being truncated. */
const SNAPSHOT_GRACE = 3_000;

/** Milliseconds for which `cleared` tries: it waits for other readers, such as a check of the database. */
const BUSY_LIMIT = 6_000;

/** Failed attempts without a snapshot that show that another reader needs the log: about a second. */
const MAX_FAILURES = 10;

const RETRY_INTERVAL = 100;

const STILL_READ = new PlantStoreError(
  'OWNER_BEING_ERASED',
  'what was erased may still be in the write-ahead log, because a reader, such as a backup, holds it; the erasure ends when that does: repeat the call with the same subject key to wait for it',
);

/**
 * The write-ahead log of a database. It holds what was erased, and it grows, until SQLite begins it anew. SQLite does
 * not as long as some reader needs it, and readers that overlap need it for ever. So while it is truncated, no long
 * read of this process begins, and those that go on are ended; but not while another reader, such as a backup, needs it
 * anyway. Writers never wait for a reader.
 */
export class WriteAheadLog {
  readonly #path: string;
  readonly #db: DatabaseSync;
  readonly #snapshots: ReadonlySet<SqliteSnapshot>;
  #truncating: Promise<void> | undefined;
  #isOutdated: boolean;
  #most = MAX_BYTES;
  /**
   * Number of pages that were copied when another reader was found to need the log. While it is the same, that reader
   * still does: one that began later needs more pages.
   */
  #copied: number | undefined;

  /** `db`: a connection to the database. `snapshots`: those that are open. `alone`: see SqliteOptions. */
  constructor(path: string, db: DatabaseSync, snapshots: ReadonlySet<SqliteSnapshot>, alone: boolean) {
    this.#path = path;
    this.#db = db;
    this.#snapshots = snapshots;
    this.#isOutdated = alone && db.prepare('SELECT * FROM uncleared').get() !== undefined;
  }

  /**
   * Records, in the current transaction of `db`, that the log holds what was erased until it is truncated, also after a
   * restart.
   */
  outdate(): void {
    this.#db.exec('INSERT OR IGNORE INTO uncleared VALUES (1)');
    this.#isOutdated = true;
  }

  /** See Store.cleared. */
  async cleared(): Promise<void> {
    const begun = monotonic();
    while (this.#isOutdated) {
      await this.#truncate();
      if (!this.#isOutdated) return;
      await pause(RETRY_INTERVAL);
      if (monotonic() > begun + BUSY_LIMIT || !this.#db.isOpen) throw STILL_READ;
    }
  }

  /** Resolves when a long read may begin: it would hold up no truncation, except one that a reader holds up anyway. */
  async waitBeforeLongRead(): Promise<void> {
    await (this.#isOutdated ? this.#truncate() : this.#truncating)?.catch(() => {});
  }

  /**
   * Truncates it if it is too long because of snapshots. If another reader needs it too, that is given up for a while.
   */
  bound(): void {
    if (this.#snapshots.size === 0 || this.#truncating !== undefined || this.#bytes() <= this.#most) return;
    this.#truncate().catch(() => {});
  }

  /** Resolves when nothing truncates it any more. */
  async settled(): Promise<void> {
    await this.#truncating?.catch(() => {});
  }

  #bytes(): number {
    return statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  async #truncate(): Promise<void> {
    this.#truncating ??= this.#truncated().finally(() => {
      this.#truncating = undefined;
    });
    await this.#truncating;
  }

  /** Resolves when it is truncated, or another reader is known to need it. */
  async #truncated(): Promise<void> {
    this.#most = this.#bytes() + MAX_BYTES;
    let failures = 0;
    for (const begun = monotonic(); ; await pause(RETRY_INTERVAL)) {
      // In the same step as the attempt, so that none has begun in between.
      if (monotonic() > begun + SNAPSHOT_GRACE) for (const snapshot of this.#snapshots) snapshot.end();
      const copied = truncateAtOnce(this.#path);
      if (copied === undefined) break;
      if (this.#snapshots.size === 0) failures++;
      if (copied === this.#copied) return;
      if (failures < MAX_FAILURES) continue;
      this.#extend();
      this.#copied = copied;
      return;
    }
    this.#most = MAX_BYTES;
    this.#copied = undefined;
    if (!this.#isOutdated) return;
    this.#db.exec('DELETE FROM uncleared');
    this.#isOutdated = false;
    truncateAtOnce(this.#path);
  }

  /**
   * Commits a page without a change, so that whoever begins to read from now on needs more pages than are copied now.
   */
  #extend(): void {
    transaction(this.#db, () => this.#db.exec('INSERT INTO uncleared VALUES (2); DELETE FROM uncleared WHERE row = 2'));
  }
}

/**
 * Truncates the write-ahead log of a database if nobody needs it now. If somebody does, returns how many of its pages
 * are copied to the database: the oldest reader keeps those that came later.
 */
export function truncateAtOnce(path: string): number | undefined {
  using db = openWriter(path);
  // Whoever waits here keeps all others from writing.
  db.exec('PRAGMA busy_timeout = 0');
  const { busy, checkpointed } = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()!;
  return busy === 0 ? undefined : Number(checkpointed);
}
