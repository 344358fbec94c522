import type { DatabaseSync } from 'node:sqlite';
import type { Changes } from '../../store.ts';
import { FIELD_PARAMETERS, fieldValues, PLANT_COLUMNS } from './rows.ts';

/** Prepares the statements that change a table of plants. */
export const prepareChanges = (db: DatabaseSync, table: string) => ({
  remove: db.prepare(`DELETE FROM ${table} WHERE owner = ? AND id = ?`),
  insert: db.prepare(`INSERT INTO ${table} (owner, ${PLANT_COLUMNS}) VALUES (?, ?, ${FIELD_PARAMETERS})`),
});

/** Applies changes within the caller's transaction. Throws when they do not fit the rows. */
export function applyChanges(
  { remove, insert }: ReturnType<typeof prepareChanges>,
  { deletes, inserts }: Changes,
): void {
  for (const { owner, id } of deletes)
    if (remove.run(owner, id).changes === 0) throw new Error(`the read model has no plant ${id} to delete`);
  for (const row of inserts) insert.run(row.owner, row.id, ...fieldValues(row));
}
