import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { plantOfTexts, withKey } from '../../../domain/plant.ts';
import type { OwnedRow } from '../../store.ts';
import { listBytes } from '../../view/listing.ts';
import { type Table, tableBatches } from '../batches.ts';
import { prepareQuery } from '../connection.ts';
import type { ReadQueue } from '../read-queue.ts';
import { PLANT_COLUMNS } from './rows.ts';

/** A key of SQLite's order, in which all integers come after -Infinity. */
interface Above {
  readonly owner: string;
  readonly id: bigint | number;
}

/** Every row of the read model, in primary key order. */
export async function* allPlants(db: DatabaseSync, reads: ReadQueue): AsyncGenerator<OwnedRow[]> {
  const query = prepareQuery(
    db,
    `SELECT owner, ${PLANT_COLUMNS} FROM plants WHERE (owner, id) > (?, ?) ORDER BY owner, id LIMIT ?`,
  );
  const plants: Table<OwnedRow, Above> = {
    rows: ({ owner, id }, limit) =>
      (query.all(owner, id, limit) as unknown as SQLOutputValue[][]).map((row) =>
        withKey({ owner: row[0] as string, id: row[1] as bigint }, plantOfTexts(row, 2)),
      ),
    keyOf: (row) => row,
    bytesOf: listBytes,
  };
  yield* tableBatches(reads, undefined, plants, { owner: '', id: Number.NEGATIVE_INFINITY });
}
