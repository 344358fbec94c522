import { randomUUID } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Changes, OwnedRow, Rebuild } from '../../store.ts';
import { openWriter, transaction } from '../connection.ts';
import type { ReadQueue } from '../read-queue.ts';
import { createPlants, PLANTS_CHECKPOINT, PLANTS_TABLE } from '../schema.ts';
import { allPlants } from './all-plants.ts';
import { applyChanges, prepareChanges } from './changes.ts';

/** Prefix of the table names of rebuilds. A number unique to the rebuild follows. */
export const REBUILT_TABLES = 'plants_rebuilt_';

/** Milliseconds to wait for the service's transactions: a rebuild is not urgent. */
const BUSY_LIMIT = 10_000;

/**
 * A table of plants beside the live one, on its own connection. If the process dies, the next rebuild removes the
 * table.
 */
export class SqliteRebuild implements Rebuild {
  readonly #table = REBUILT_TABLES + randomUUID().replaceAll('-', '');
  readonly #db: DatabaseSync;
  readonly #reads: ReadQueue;
  readonly #changes: ReturnType<typeof prepareChanges>;
  readonly #moved: StatementSync;

  constructor(path: string, reads: ReadQueue) {
    this.#reads = reads;
    // Rows lost in a power cut are built again.
    this.#db = openWriter(path, 'NORMAL');
    try {
      this.#db.exec(`PRAGMA busy_timeout = ${BUSY_LIMIT}`);
      transaction(this.#db, () => {
        const earlier = this.#db.prepare('SELECT name FROM sqlite_schema WHERE name GLOB ?').all(`${REBUILT_TABLES}*`);
        for (const { name } of earlier) this.#db.exec(`DROP TABLE ${name}`);
        this.#db.exec(createPlants(this.#table));
      });
      this.#changes = prepareChanges(this.#db, this.#table);
      this.#moved = this.#db.prepare(
        `INSERT INTO checkpoints (name, position, generation) VALUES (:name, :to, :now)
         ON CONFLICT (name) DO UPDATE SET position = :to, generation = generation + 1 WHERE position <= :to`,
      );
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  async apply(changes: Changes): Promise<void> {
    transaction(this.#db, () => applyChanges(this.#changes, changes));
  }

  all(): AsyncIterable<OwnedRow[]> {
    return allPlants(this.#db, this.#reads, this.#table);
  }

  async swap(position: number): Promise<boolean> {
    return transaction(this.#db, () => {
      // The generation of a lost checkpoint is lost too. Milliseconds are more than there were rebuilds.
      if (this.#moved.run({ name: PLANTS_CHECKPOINT, to: position, now: Date.now() }).changes === 0) return false;
      this.#db.exec(`DROP TABLE ${PLANTS_TABLE}; ALTER TABLE ${this.#table} RENAME TO ${PLANTS_TABLE}`);
      return true;
    });
  }

  async close(): Promise<void> {
    try {
      transaction(this.#db, () => this.#db.exec(`DROP TABLE IF EXISTS ${this.#table}`));
    } finally {
      this.#db.close();
    }
  }
}
