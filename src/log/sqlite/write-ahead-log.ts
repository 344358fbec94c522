import { statSync } from 'node:fs';
import { PlantStoreError } from '../../domain/errors.ts';
import { monotonic } from '../../time/host.ts';
import { pause } from '../../time/pause.ts';
import { openWriter } from './connection.ts';
import type { SqliteSnapshot } from './read-model/snapshot.ts';

/** Bytes above which the log is truncated while snapshots are open: to copy them takes the event loop about a second. */
const MOST_BYTES = 256 * 1024 * 1024;

/** Milliseconds that a snapshot may go on which keeps the log from being truncated. */
const GRACE = 3_000;

/** Milliseconds to wait for readers of other processes, and for the check of the database. */
const BUSY_LIMIT = 6_000;

/** Milliseconds between two attempts. */
const PAUSE = 100;

const STILL_READ = new PlantStoreError(
  'OWNER_BEING_ERASED',
  'what was erased may still be in the write-ahead log, because a reader, such as a backup, holds it; the erasure ends when that does: repeat the call with the same subject key to wait for it',
);

/**
 * The write-ahead log of a database. It holds what was erased, and it grows, until SQLite begins it anew. SQLite does not
 * as long as some reader needs it, and readers that overlap need it for ever. So while it is truncated, no long read of
 * this process begins, and those that go on are ended. Writers never wait for a reader.
 */
export class WriteAheadLog {
  readonly #path: string;
  readonly #snapshots: ReadonlySet<SqliteSnapshot>;
  #truncating: Promise<void> | undefined;
  #isOutdated: boolean;
  #most = MOST_BYTES;

  /** `snapshots`: those that are open. `isOutdated`: whether it may hold what was erased. */
  constructor(path: string, snapshots: ReadonlySet<SqliteSnapshot>, isOutdated: boolean) {
    this.#path = path;
    this.#snapshots = snapshots;
    this.#isOutdated = isOutdated;
  }

  /** From now on it holds what was erased, until it is truncated. */
  outdate(): void {
    this.#isOutdated = true;
  }

  /** See Store.cleared. */
  async cleared(): Promise<void> {
    if (this.#isOutdated) await this.#truncate();
  }

  /** Resolves when a long read may begin: it would hold up no truncation, except one that a reader holds up anyway. */
  async mayRead(): Promise<void> {
    await (this.#isOutdated ? this.#truncate() : this.#truncating)?.catch(() => {});
  }

  /** Truncates it if it is too long because of snapshots. If another reader needs it too, that is given up for a while. */
  bound(): void {
    if (this.#snapshots.size === 0 || this.#truncating !== undefined || this.#bytes() <= this.#most) return;
    this.#truncate().catch(() => {
      this.#most = this.#bytes() + MOST_BYTES;
    });
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

  async #truncated(): Promise<void> {
    for (const begun = monotonic(); ; await pause(PAUSE)) {
      const waited = monotonic() - begun;
      // In the same step as the attempt, so that none has begun in between.
      if (waited > GRACE) for (const snapshot of this.#snapshots) snapshot.end();
      if (truncateAtOnce(this.#path)) break;
      if (waited > BUSY_LIMIT) throw STILL_READ;
    }
    this.#isOutdated = false;
    this.#most = MOST_BYTES;
  }
}

/** Truncates the write-ahead log of a database if nobody needs it now. Returns whether it did. */
export function truncateAtOnce(path: string): boolean {
  const db = openWriter(path, 'FULL');
  try {
    // Whoever waits here keeps all others from writing.
    db.exec('PRAGMA busy_timeout = 0');
    return db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()!.busy === 0;
  } finally {
    db.close();
  }
}
