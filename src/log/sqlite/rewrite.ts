import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { transaction } from './connection.ts';
import { copyOf, dropTriggers, type KeyedTable } from './schema.ts';

/** Rows of one step: a few milliseconds of the event loop, and of the write lock. */
const STEP_ROWS = 500;

/**
 * Writes a table anew, without what was deleted from it, while it is read and written as always. SQLite overwrites what
 * is deleted, but where it moves rows between pages of a table, copies of them stay in the unused space.
 *
 * A new table gets all rows in steps; meanwhile, triggers insert into it and delete from it what comes and goes in the
 * old one, whose rows are never updated or replaced. Then it takes the name, and the old table is emptied in steps,
 * which overwrites its pages. A call that ends early has done no harm: the next one removes what it has left. Only the
 * process that has the data directory to itself calls this, and no two calls at a time.
 */
export async function* rewrite(db: DatabaseSync, table: KeyedTable): AsyncGenerator<void> {
  const { name, copy, former } = table;
  if (isThere(db, copy))
    transaction(db, () => db.exec(`${dropTriggers(table)}; ALTER TABLE ${copy} RENAME TO ${former}`));
  yield* removeFormer(db, table);
  transaction(db, () => db.exec(copyOf(table)));
  yield* copyRows(db, table);
  transaction(db, () =>
    db.exec(`${dropTriggers(table)}; ALTER TABLE ${name} RENAME TO ${former}; ALTER TABLE ${copy} RENAME TO ${name}`),
  );
  yield* removeFormer(db, table);
}

async function* copyRows(db: DatabaseSync, { name, copy, key }: KeyedTable): AsyncGenerator<void> {
  const above = `FROM ${name} WHERE (${key}) > (${key.map(() => '?')}) ORDER BY ${key} LIMIT`;
  const last = db.prepare(`SELECT ${key} ${above} 1 OFFSET ${STEP_ROWS - 1}`);
  last.setReturnArrays(true);
  last.setReadBigInts(true);
  const insert = db.prepare(`INSERT OR IGNORE INTO ${copy} SELECT * ${above} ${STEP_ROWS}`);
  // Below every key, because no owner's name is empty.
  let after: string[] | undefined = key.map(() => '');
  while (after !== undefined) {
    const from: string[] = after;
    after = transaction(db, () => copyStep(last, insert, from));
    yield;
  }
}

/** Copies the next rows. Returns the key of the last; undefined: there are no more. */
function copyStep(last: StatementSync, insert: StatementSync, after: readonly string[]): string[] | undefined {
  const end = last.get(...after) as unknown as string[] | undefined;
  insert.run(...after);
  return end;
}

async function* removeFormer(db: DatabaseSync, { former, key }: KeyedTable): AsyncGenerator<void> {
  if (!isThere(db, former)) return;
  const remove = db.prepare(`DELETE FROM ${former} WHERE (${key}) IN
    (SELECT ${key} FROM ${former} ORDER BY ${key} LIMIT ${STEP_ROWS})`);
  while (remove.run().changes > 0) yield;
  db.exec(`DROP TABLE ${former}`);
}

const isThere = (db: DatabaseSync, table: string): boolean =>
  db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(table) !== undefined;
