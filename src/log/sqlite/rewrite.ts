import { randomUUID } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { transaction } from './connection.ts';
import { copyOf, FORMER, isCopy, type KeyedTable } from './schema.ts';

/** Rows of one step: a few milliseconds of the event loop, and of the write lock. */
const STEP = 500;

/**
 * Writes a table anew, without what was deleted from it, while it is read and written as always. SQLite overwrites what
 * is deleted, but where it moves rows between pages of a table, copies of them stay in the unused space.
 *
 * A new table gets all rows in steps; meanwhile, triggers insert into it and delete from it what comes and goes in the
 * old one, whose rows are never updated or replaced. Then it takes the name, and the old table is emptied in steps,
 * which overwrites its pages. A call that ends early has done no harm: the next one removes what it has left. A call
 * that goes on after another one began finds its tables gone, and rejects.
 */
export async function* rewrite(db: DatabaseSync, table: KeyedTable): AsyncGenerator<void> {
  retireCopies(db, table);
  yield* removeFormer(db, table);
  const copy = begin(db, table);
  yield* copyRows(db, table, copy);
  replace(db, table, copy);
  yield* removeFormer(db, table);
}

/** From here on, no earlier call can put its copy in the place of the table. */
function retireCopies(db: DatabaseSync, table: KeyedTable): void {
  transaction(db, () => {
    removeTriggers(db, table);
    for (const name of copiesOf(db, table))
      if (!name.endsWith(FORMER)) db.exec(`ALTER TABLE ${name} RENAME TO ${name}${FORMER}`);
  });
}

/** Creates the new table, with triggers that repeat every change of the old one. Returns its name. */
function begin(db: DatabaseSync, table: KeyedTable): string {
  const copy = `${table.name}_${randomUUID().replaceAll('-', '')}`;
  transaction(db, () => db.exec(copyOf(table, copy)));
  return copy;
}

async function* copyRows(db: DatabaseSync, { name, key }: KeyedTable, copy: string): AsyncGenerator<void> {
  const above = `FROM ${name} WHERE (${key}) > (${key.map(() => '?')}) ORDER BY ${key} LIMIT`;
  const last = db.prepare(`SELECT ${key} ${above} 1 OFFSET ${STEP - 1}`);
  last.setReturnArrays(true);
  last.setReadBigInts(true);
  const insert = db.prepare(`INSERT OR IGNORE INTO ${copy} SELECT * ${above} ${STEP}`);
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

function replace(db: DatabaseSync, table: KeyedTable, copy: string): void {
  transaction(db, () => {
    removeTriggers(db, table);
    db.exec(`ALTER TABLE ${table.name} RENAME TO ${copy}${FORMER}; ALTER TABLE ${copy} RENAME TO ${table.name}`);
  });
}

async function* removeFormer(db: DatabaseSync, table: KeyedTable): AsyncGenerator<void> {
  for (const name of copiesOf(db, table).filter((each) => each.endsWith(FORMER))) {
    const remove = db.prepare(`DELETE FROM ${name} WHERE (${table.key}) IN
      (SELECT ${table.key} FROM ${name} ORDER BY ${table.key} LIMIT ${STEP})`);
    while (remove.run().changes > 0) yield;
    db.exec(`DROP TABLE ${name}`);
  }
}

function removeTriggers(db: DatabaseSync, { name }: KeyedTable): void {
  for (const trigger of namesOf(db, `type = 'trigger' AND tbl_name = '${name}'`)) db.exec(`DROP TRIGGER ${trigger}`);
}

/** Tables of somebody else may have similar names. */
const copiesOf = (db: DatabaseSync, table: KeyedTable): string[] =>
  namesOf(db, "type = 'table'").filter((name) => isCopy(table, name));

const namesOf = (db: DatabaseSync, condition: string): string[] =>
  db
    .prepare(`SELECT name FROM sqlite_schema WHERE ${condition}`)
    .all()
    .map(({ name }) => String(name));
