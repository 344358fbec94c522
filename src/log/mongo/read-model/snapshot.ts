import type { Db, Document, Timestamp } from 'mongodb';
import { withId } from '../../../domain/plant.ts';
import type { Semaphore } from '../../../semaphore.ts';
import { batches, type Page } from '../../batches.ts';
import type { OwnedRow, PlantRow, Snapshot, Standing } from '../../store.ts';
import { COMMAND_LIMIT, withCallLimit } from '../connection/client.ts';
import { after, FOUND_ROWS, type FoundRows, firstRowsStages, ownedBy, pageOf } from './rows.ts';

/**
 * The read model at one moment of the replica set. The server keeps every moment for some minutes (parameter
 * minSnapshotHistoryWindowInSeconds, 300 by default), with or without readers. So an open snapshot is only a timestamp:
 * any number may be open, and a failover does not end them.
 *
 * `moment`: a moment at which the read model stands there. Undefined: its checkpoint is gone. `reads` bounds the reads of
 * an owner's rows.
 */
export function mongoSnapshot(db: Db, standing: Standing | undefined, moment: Timestamp, reads: Semaphore): Snapshot {
  let isClosed = false;

  async function find(filter: Document, limit: number): Promise<Page<OwnedRow>> {
    const aggregate = {
      aggregate: 'plants',
      pipeline: firstRowsStages(filter, limit),
      cursor: {},
      readConcern: { level: 'snapshot', atClusterTime: moment },
      maxTimeMS: COMMAND_LIMIT,
    };
    const [found] = isClosed ? [] : await withCallLimit(db.runCursorCommand(aggregate, FOUND_ROWS).toArray());
    if (isClosed) throw new Error('the snapshot is closed');
    return pageOf(found as FoundRows | undefined, limit);
  }

  return {
    position: standing?.checkpoint,
    upTo: standing?.upTo ?? 0,
    list: (owner, start) =>
      batches(async (last: PlantRow | undefined, limit) => {
        using _permit = await reads.acquire(owner);
        const { rows, whole } = await find(ownedBy(owner, last?.id ?? start), limit);
        return { rows: rows.map((row) => withId(row.id, row)), whole };
      }),
    all: () => batches((last: OwnedRow | undefined, limit) => find(after(last), limit)),
    async close() {
      isClosed = true;
    },
  };
}
