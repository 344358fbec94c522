import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { storedHash, type TreeNodes } from '../tree/nodes.ts';
import { prepareQuery, transaction } from './connection.ts';

/** The nodes of the tree in their table. A power cut may lose the last of them, which are then made again. */
export class SqliteTree implements TreeNodes {
  readonly #db: DatabaseSync;
  readonly #count: StatementSync;
  readonly #read: StatementSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#count = prepareQuery(db, 'SELECT ifnull(max(node) + 1, 0) FROM tree WHERE level = ?');
    this.#read = prepareQuery(
      db,
      'SELECT node, hash FROM tree WHERE level = ? AND node >= ? AND node < ? ORDER BY node',
    );
  }

  async count(level: number): Promise<number> {
    return Number((this.#count.get(level) as unknown as [bigint])[0]);
  }

  async read(level: number, start: number, end: number): Promise<Uint8Array[]> {
    const rows = this.#read.all(level, start, end) as unknown as [bigint, Uint8Array][];
    const gap = rows.findIndex(([node], at) => Number(node) !== start + at);
    return rows.slice(0, gap < 0 ? rows.length : gap).map(([, hash], at) => storedHash(level, start + at, hash));
  }

  async write(level: number, start: number, nodes: readonly Uint8Array[]): Promise<void> {
    const insert = this.#db.prepare('INSERT OR REPLACE INTO tree (level, node, hash) VALUES (?, ?, ?)');
    transaction(this.#db, () => {
      for (const [at, hash] of nodes.entries()) insert.run(level, start + at, hash);
    });
  }

  async truncate(level: number, count: number): Promise<void> {
    this.#db.prepare('DELETE FROM tree WHERE level = ? AND node >= ?').run(level, count);
  }
}
