import type { DatabaseSync } from 'node:sqlite';
import type { Store } from '../store.ts';
import { transaction } from './connection.ts';
import { rewrite } from './rewrite.ts';
import { KEYS, PLANTS } from './schema.ts';
import type { WriteAheadLog } from './write-ahead-log.ts';

/** Positions of one step: a few milliseconds of the event loop if all are of the owner. */
const STEP_POSITIONS = 400;

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
 * Erasures in SQLite. Deleted data is overwritten. The tables whose pages are rearranged keep copies of it
 * nevertheless; these are written anew, once for all erasures that are under way. Events are appended in order, and
 * lose their contents where they stand. Then the write-ahead log is truncated.
 */
export function sqliteErasures(db: DatabaseSync, writeAheadLog: WriteAheadLog) {
  const isCleared = (position: number) =>
    db.prepare('SELECT erases_cleared AS found FROM events WHERE position = ?').get(position)?.found === 1;

  function change(statement: string, positions: readonly number[]): void {
    const prepared = db.prepare(statement);
    transaction(db, () => {
      for (const position of positions) prepared.run(position);
      writeAheadLog.outdate();
    });
  }

  return {
    async *eraseContents(owner, by) {
      const [removeKeys, remove] = [db.prepare(REMOVE_KEYS), db.prepare(REMOVE)];
      let taken = 0;
      for (let after = 0; after < by - 1; after += STEP_POSITIONS) {
        const range = { after, to: Math.min(after + STEP_POSITIONS, by - 1), owner };
        taken += transaction(db, () => {
          removeKeys.run(range);
          return Number(remove.run({ ...range, by }).changes);
        });
        yield taken;
      }
    },

    /** What is left over is rewritten once. */
    async *clearErased(positions) {
      const toClear = positions.filter((position) => !isCleared(position));
      if (toClear.length === 0) return;
      for (const table of REARRANGED) yield* rewrite(db, table);
      change(CLEARED, toClear);
    },

    async erasurePublished(position, isPublished) {
      db.prepare(PUBLISHED).run(Number(isPublished), position);
    },

    async endErasures(positions, mustBePublished) {
      change(mustBePublished ? `${END} AND erases_published = 1` : END, positions);
    },
  } satisfies Partial<Store>;
}
