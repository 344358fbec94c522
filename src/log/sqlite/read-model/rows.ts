import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import { PLANT_FIELDS, type Plant, plantOfTexts, withId, withKey } from '../../../domain/plant.ts';
import { listBytes } from '../../row-size.ts';
import type { OwnedRow, PlantRow } from '../../store.ts';
import { type Table, tableBatches } from '../batches.ts';
import { prepareQuery } from '../connection.ts';
import type { ReadQueue } from '../read-queue.ts';

/** Columns of a table of plants with the fields of a plant. */
const FIELD_COLUMNS = PLANT_FIELDS.map(({ name }) => name).join(', ');

/** A parameter for each of FIELD_COLUMNS. */
export const FIELD_PARAMETERS = PLANT_FIELDS.map(() => '?').join(', ');

/** Columns of a table of plants that form a PlantRow. */
export const PLANT_COLUMNS = `id, ${FIELD_COLUMNS}`;

/** An owner's plant: FIELD_COLUMNS. */
export const SELECT_PLANT = `SELECT ${FIELD_COLUMNS} FROM plants WHERE owner = ? AND id = ?`;

/** An owner's first plants above an id. */
export const SELECT_PLANTS = `SELECT ${PLANT_COLUMNS} FROM plants WHERE owner = ? AND id > ? ORDER BY id LIMIT ?`;

/** An owner's rows after an id (undefined: all), of a query over PLANT_COLUMNS by owner, lower bound and limit. */
export const plantsIn = (query: StatementSync, owner: string, after: bigint | undefined): Table<PlantRow> => ({
  rows: (last, limit) =>
    (query.all(owner, last?.id ?? after ?? -Infinity, limit) as unknown as SQLOutputValue[][]).map((row) =>
      withId(row[0] as bigint, plantOfTexts(row, 1)),
    ),
  bytesOf: listBytes,
});

/** The row of a query for FIELD_COLUMNS. Undefined: no row. */
export function plantOf(query: StatementSync, owner: string, id: bigint): Plant | undefined {
  const row = query.get(owner, id) as SQLOutputValue[] | undefined;
  return row === undefined ? undefined : plantOfTexts(row, 0);
}

/** Every row of the read model, in primary key order. */
export async function* allPlants(db: DatabaseSync, reads: ReadQueue): AsyncGenerator<OwnedRow[]> {
  const query = prepareQuery(
    db,
    `SELECT owner, ${PLANT_COLUMNS} FROM plants WHERE (owner, id) > (?, ?) ORDER BY owner, id LIMIT ?`,
  );
  // In SQLite's order, all integers come after -Infinity.
  const plants: Table<OwnedRow> = {
    rows: (last, limit) =>
      (query.all(last?.owner ?? '', last?.id ?? -Infinity, limit) as unknown as SQLOutputValue[][]).map((row) =>
        withKey({ owner: row[0] as string, id: row[1] as bigint }, plantOfTexts(row, 2)),
      ),
    bytesOf: listBytes,
  };
  yield* tableBatches(reads, undefined, plants);
}
