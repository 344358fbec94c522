import type { DatabaseSync } from 'node:sqlite';
import { transaction } from './connection.ts';
import { rewrite } from './rewrite.ts';
import { KEYS, PLANTS } from './schema.ts';
import type { WriteAheadLog } from './write-ahead-log.ts';

/** Positions of one step: a few milliseconds of the event loop if all are of the owner. */
const STEP = 400;

/** Tables whose pages are rearranged, which leaves copies of what was deleted. */
const REARRANGED = [PLANTS, KEYS];

const REMOVE_KEYS = `DELETE FROM idempotency_keys WHERE (owner, idempotency_key, position) IN
  (SELECT owner, idempotency_key, position FROM events
   WHERE position > :after AND position <= :to AND owner = :owner AND idempotency_key IS NOT NULL)`;

const REMOVE = `UPDATE events
  SET erased_by = :by, content = NULL, owner = NULL, plant_id = NULL, idempotency_key = NULL
  WHERE position > :after AND position <= :to AND owner = :owner`;

const CLEARED = 'UPDATE events SET erases_cleared = 1 WHERE position = ? AND erases_owner IS NOT NULL';
const PUBLISHED = 'UPDATE events SET erases_published = ? WHERE position = ? AND erases_owner IS NOT NULL';
const END = `UPDATE events
  SET erases_owner = NULL, erases_key = NULL, erases_cleared = NULL, erases_published = NULL
  WHERE position = ? AND erases_owner IS NOT NULL`;

/**
 * Erasures in SQLite. Deleted data is overwritten. The tables whose pages are rearranged keep copies of it nevertheless;
 * these are written anew, once for all erasures that are under way. Events are appended in order, and lose their contents
 * where they stand. Then the write-ahead log is truncated.
 */
export class SqliteErasures {
  readonly #db: DatabaseSync;
  readonly #projecting: DatabaseSync;
  readonly #writeAheadLog: WriteAheadLog;

  /** `db` and `projecting`: connections that may write. What `projecting` commits, a later commit of `db` syncs. */
  constructor(db: DatabaseSync, projecting: DatabaseSync, writeAheadLog: WriteAheadLog) {
    this.#db = db;
    this.#projecting = projecting;
    this.#writeAheadLog = writeAheadLog;
  }

  /** See Store.eraseContents. */
  async *eraseContents(owner: string, by: number): AsyncGenerator<number> {
    const [removeKeys, remove] = [this.#projecting.prepare(REMOVE_KEYS), this.#projecting.prepare(REMOVE)];
    let taken = 0;
    for (let after = 0; after < by - 1; after += STEP) {
      const range = { after, to: Math.min(after + STEP, by - 1), owner };
      taken += transaction(this.#projecting, () => {
        removeKeys.run(range);
        return Number(remove.run({ ...range, by }).changes);
      });
      yield taken;
    }
  }

  /** See Store.clearErased. What is left over is rewritten once. */
  async *clear(positions: readonly number[]): AsyncGenerator<void> {
    const toClear = positions.filter((position) => !this.#isCleared(position));
    if (toClear.length === 0) return;
    for (const table of REARRANGED) yield* rewrite(this.#projecting, table);
    this.#change(CLEARED, toClear);
  }

  #isCleared(position: number): boolean {
    return this.#db.prepare('SELECT erases_cleared AS found FROM events WHERE position = ?').get(position)?.found === 1;
  }

  #change(statement: string, positions: readonly number[]): void {
    const change = this.#db.prepare(statement);
    transaction(this.#db, () => {
      for (const position of positions) change.run(position);
      this.#writeAheadLog.outdate();
    });
  }

  /** See Store.erasurePublished. */
  async published(position: number, isPublished: boolean): Promise<void> {
    this.#db.prepare(PUBLISHED).run(Number(isPublished), position);
  }

  /** See Store.endErasures. */
  async end(positions: readonly number[], mustBePublished: boolean): Promise<void> {
    this.#change(mustBePublished ? `${END} AND erases_published = 1` : END, positions);
  }
}
