import type { DatabaseSync } from 'node:sqlite';
import { BrokenReadModelError, type Changes } from '../../store.ts';
import { FIELD_PARAMETERS, fieldValues, PLANT_COLUMNS } from './rows.ts';

/** Prepares the statements that change a table of plants. */
export const prepareChanges = (db: DatabaseSync, table: string) => ({
  remove: db.prepare(`DELETE FROM ${table} WHERE owner = ? AND id = ?`),
  insert: db.prepare(`
    INSERT INTO ${table} (owner, ${PLANT_COLUMNS}) VALUES (?, ?, ${FIELD_PARAMETERS}) ON CONFLICT (owner, id) DO NOTHING`),
});

/** Applies changes within the caller's transaction. Throws BrokenReadModelError when they do not fit the rows. */
export function applyChanges(
  { remove, insert }: ReturnType<typeof prepareChanges>,
  { deletes, inserts }: Changes,
): void {
  for (const { owner, id } of deletes)
    if (remove.run(owner, id).changes === 0)
      throw new BrokenReadModelError('the read model lacks a plant that is to be deleted');
  for (const row of inserts)
    if (insert.run(row.owner, row.id, ...fieldValues(row)).changes === 0)
      throw new BrokenReadModelError('the read model has a plant that is to be added');
}
