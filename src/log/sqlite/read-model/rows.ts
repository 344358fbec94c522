import type { SQLInputValue, StatementSync } from 'node:sqlite';
import type { Plant } from '../../../domain/plant.ts';
import type { PlantRow } from '../../store.ts';
import { listBytes } from '../../view/listing.ts';
import type { Table } from '../batches.ts';

/** Columns of a table of plants with the fields of a plant. */
export const FIELD_COLUMNS = 'name, tag';

/** A parameter for each of FIELD_COLUMNS. */
export const FIELD_PARAMETERS = '?, ?';

/** The values of a plant for FIELD_COLUMNS. */
export const fieldValues = ({ name, tag }: Plant): SQLInputValue[] => [name, tag ?? null];

/** Columns of a table of plants that form a PlantRow. */
export const PLANT_COLUMNS = `id, ${FIELD_COLUMNS}`;

/**
 * An owner's rows of a query over PLANT_COLUMNS, with the owner, the lower bound of the ids (undefined: all) and the
 * limit as parameters.
 */
export const plantsIn = (query: StatementSync, owner: string): Table<PlantRow, bigint | undefined> => ({
  rows: (after, limit) =>
    (query.all(owner, after ?? -Infinity, limit) as unknown as [bigint, string, string | null][]).map(
      ([id, name, tag]) => ({ id, name, tag: tag ?? undefined }),
    ),
  keyOf: ({ id }) => id,
  bytesOf: listBytes,
});

/** The row of a query for FIELD_COLUMNS. Undefined: no row. */
export function plantOf(query: StatementSync, owner: string, id: bigint): Plant | undefined {
  const row = query.get(owner, id) as [string, string | null] | undefined;
  return row === undefined ? undefined : { name: row[0], tag: row[1] ?? undefined };
}
