import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import { plantOfTexts, withKey } from '../../../domain/plant.ts';
import type { OwnedRow } from '../../store.ts';
import { listBytes } from '../../view/listing.ts';
import { batches, type Table } from '../batches.ts';
import { prepareQuery } from '../connection.ts';
import type { ReadQueue } from '../read-queue.ts';
import { PLANT_COLUMNS } from './rows.ts';

/** Every row of the read model, in primary key order. */
export async function* allPlants(db: DatabaseSync, reads: ReadQueue): AsyncGenerator<OwnedRow[]> {
  const select = `SELECT owner, ${PLANT_COLUMNS} FROM plants`;
  const first = prepareQuery(db, `${select} ORDER BY owner, id LIMIT ?`);
  const next = prepareQuery(db, `${select} WHERE (owner, id) > (?, ?) ORDER BY owner, id LIMIT ?`);
  const plants: Table<OwnedRow, OwnedRow | undefined> = {
    rows: (after, limit) => rowsOf(after === undefined ? first.all(limit) : next.all(after.owner, after.id, limit)),
    keyOf: (row) => row,
    bytesOf: listBytes,
  };
  yield* batches(reads, undefined, plants, undefined);
}

const rowsOf = (rows: ReturnType<StatementSync['all']>): OwnedRow[] =>
  (rows as unknown as SQLOutputValue[][]).map((row) =>
    withKey({ owner: row[0] as string, id: row[1] as bigint }, plantOfTexts(row, 2)),
  );
