import { once } from 'node:events';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Erasure } from '../erasure/erasure.ts';
import { transaction } from './connection.ts';

/** Positions of one step: a few milliseconds of the event loop. */
const STEP = 2_000;

const REMOVE = `UPDATE events
  SET erased_by = :by, content = NULL, owner = NULL, plant_id = NULL, idempotency_key = NULL
  WHERE position > :after AND position <= :to AND owner = :owner`;

interface ErasureRow {
  readonly owner: string;
  readonly event_id: string;
  readonly actor: string;
  readonly issuer: string | null;
  readonly since: number;
  readonly after: number;
  readonly erased_by: number | null;
  readonly published: number;
}

/**
 * Erasures in SQLite. Deleted data is overwritten, but rearranged pages keep copies in their unused space. So VACUUM
 * rewrites the database without those copies, and the write-ahead log is truncated.
 */
export class SqliteErasures {
  readonly #path: string;
  readonly #db: DatabaseSync;
  #vacuuming: Promise<void> | undefined;

  /** `db`: a connection that may write. */
  constructor(path: string, db: DatabaseSync) {
    this.#path = path;
    this.#db = db;
  }

  /** Resolves when no other thread holds the write lock for long any more. Every write waits for it first. */
  get vacuuming(): Promise<void> | undefined {
    return this.#vacuuming;
  }

  /** See Store.erasures. */
  all(): readonly Erasure[] {
    const rows = this.#db.prepare('SELECT * FROM erasures ORDER BY since, event_id').all() as unknown as ErasureRow[];
    return rows.map(({ owner, event_id, actor, issuer, since, after, erased_by, published }) => ({
      owner,
      eventId: event_id,
      actor,
      issuer: issuer ?? undefined,
      since,
      after,
      erasedBy: erased_by ?? undefined,
      isPublished: published === 1,
    }));
  }

  /** See Store.beginErasure. */
  begin({ owner, eventId, actor, issuer, since, after, isPublished }: Erasure): void {
    this.#db
      .prepare(
        `INSERT INTO erasures (event_id, owner, actor, issuer, since, after, published) VALUES (?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO NOTHING`,
      )
      .run(eventId, owner, actor, issuer ?? null, since, after, Number(isPublished));
  }

  /** See Store.eraseContents. */
  async *eraseContents(owner: string, by: number): AsyncGenerator<number> {
    const remove = this.#db.prepare(REMOVE);
    let taken = 0;
    for (let after = 0; after < by - 1; after += STEP, await turn()) {
      const to = Math.min(after + STEP, by - 1);
      taken += Number(transaction(this.#db, () => remove.run({ by, after, to, owner })).changes);
      yield taken;
    }
  }

  /** See Store.contentsErased. */
  async contentsErased(eventId: string, by: number): Promise<void> {
    await this.#clear('vacuum');
    this.#db.prepare('UPDATE erasures SET erased_by = ? WHERE event_id = ?').run(by, eventId);
  }

  /** See Store.erasurePublished. */
  published(eventId: string): void {
    this.#db.prepare('UPDATE erasures SET published = 1 WHERE event_id = ?').run(eventId);
  }

  /** See Store.endErasure. */
  async end(eventId: string): Promise<void> {
    this.#db.prepare('DELETE FROM erasures WHERE event_id = ?').run(eventId);
    await this.#clear('truncate');
  }

  /**
   * Runs in a worker thread, so that lists continue. Rejects when a reader keeps an older state of the database for too
   * long.
   */
  #clear(how: 'vacuum' | 'truncate'): Promise<void> {
    const work = runThread({ path: this.#path, how });
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
