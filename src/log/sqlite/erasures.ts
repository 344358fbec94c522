import { once } from 'node:events';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { transaction } from './connection.ts';

/** Positions of one step: a few milliseconds of the event loop. */
const STEP = 2_000;

const REMOVE = `UPDATE events
  SET erased_by = :by, content = NULL, owner = NULL, plant_id = NULL, idempotency_key = NULL
  WHERE position > :after AND position <= :to AND owner = :owner`;

const CLEARED = 'UPDATE events SET erases_cleared = 1 WHERE position = ? AND erases_owner IS NOT NULL';
const PUBLISHED = 'UPDATE events SET erases_published = 1 WHERE position = ? AND erases_owner IS NOT NULL';
const END = `UPDATE events
  SET erases_owner = NULL, erases_key = NULL, erases_cleared = NULL, erases_published = NULL
  WHERE position = ? AND erases_owner IS NOT NULL`;

/**
 * Erasures in SQLite. Deleted data is overwritten, but rearranged pages keep copies in their unused space. So VACUUM
 * rewrites the database without those copies, once for all erasures that are under way, and the write-ahead log is truncated.
 */
export class SqliteErasures {
  readonly #path: string;
  readonly #db: DatabaseSync;
  #vacuuming: Promise<void> | undefined;
  #truncating: Promise<void> | undefined;
  #isTruncationDue = false;

  /** `db`: a connection that may write. */
  constructor(path: string, db: DatabaseSync) {
    this.#path = path;
    this.#db = db;
  }

  /** Resolves when no other thread holds the write lock for long any more. Every write waits for it first. */
  get vacuuming(): Promise<void> | undefined {
    return this.#vacuuming;
  }

  /** Resolves when no thread works on the database any more. */
  async settled(): Promise<void> {
    await this.#vacuuming;
    await this.#truncating?.catch(() => {});
  }

  /** See Store.eraseContents. */
  async *eraseContents(owner: string, by: number): AsyncGenerator<number> {
    const remove = this.#db.prepare(REMOVE);
    let taken = 0;
    for (let after = 0; after < by - 1; after += STEP, await turn()) {
      await this.#vacuuming;
      const to = Math.min(after + STEP, by - 1);
      taken += Number(transaction(this.#db, () => remove.run({ by, after, to, owner })).changes);
      yield taken;
    }
  }

  /** See Store.clearErased. What is left over is rewritten once; only the write-ahead log is truncated again. */
  async clear(positions: readonly number[]): Promise<void> {
    const toClear = positions.filter((position) => !this.#isCleared(position));
    if (toClear.length > 0) {
      await this.#vacuum();
      this.#change(CLEARED, toClear);
    }
    await this.#truncate();
  }

  #isCleared(position: number): boolean {
    return this.#db.prepare('SELECT erases_cleared AS found FROM events WHERE position = ?').get(position)?.found === 1;
  }

  #change(statement: string, positions: readonly number[]): void {
    const change = this.#db.prepare(statement);
    transaction(this.#db, () => {
      for (const position of positions) change.run(position);
    });
  }

  /** See Store.erasurePublished. */
  async published(position: number): Promise<void> {
    await this.#vacuuming;
    this.#db.prepare(PUBLISHED).run(position);
  }

  /** See Store.endErasures. */
  async end(positions: readonly number[]): Promise<void> {
    await this.#vacuuming;
    this.#change(END, positions);
    this.#isTruncationDue = true;
    await this.#truncate();
  }

  /** Truncates the write-ahead log if it may still have an owner whose erasure is complete. */
  retry(): void {
    if (this.#isTruncationDue && this.#truncating === undefined) this.#truncate().catch(() => {});
  }

  async #truncate(): Promise<void> {
    this.#truncating ??= runThread({ path: this.#path, how: 'truncate' }).finally(() => {
      this.#truncating = undefined;
    });
    await this.#truncating;
    this.#isTruncationDue = false;
  }

  /** Runs in a worker thread, so that lists continue. */
  #vacuum(): Promise<void> {
    const work = runThread({ path: this.#path, how: 'vacuum' });
    const settled = work
      .catch(() => {})
      .finally(() => {
        if (this.#vacuuming === settled) this.#vacuuming = undefined;
      });
    this.#vacuuming = settled;
    return work;
  }
}

async function runThread(workerData: { readonly path: string; readonly how: 'vacuum' | 'truncate' }): Promise<void> {
  const worker = new Worker(new URL('./clear-thread.ts', import.meta.url), { workerData });
  await once(worker, 'exit');
}
