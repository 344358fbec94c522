import type { DatabaseSync } from 'node:sqlite';
import type { Store } from '../../store.ts';
import { storedHash } from '../../tree/nodes.ts';
import { firstRows } from '../batches.ts';
import { prepareQuery, transaction } from '../connection.ts';
import { eachKey, type ReadQueue } from '../read-queue.ts';
import { applyChanges, hasRows, moveCheckpoint, prepareChanges, removeRows } from './changes.ts';
import { plantOf, plantsIn, SELECT_PLANT, SELECT_PLANTS } from './rows.ts';
import { SELECT_CHECKPOINT, standingOf } from './snapshot.ts';

/**
 * The read model in a database. `lookUps`: the queue of reads by key. `projecting`: the connection that changes it.
 * `onAdvanced` is called after each step.
 */
export function sqliteReadModel(
  db: DatabaseSync,
  reads: ReadQueue,
  lookUps: ReadQueue,
  projecting: DatabaseSync,
  onAdvanced: () => void,
) {
  const [plant, plants] = [prepareQuery(db, SELECT_PLANT), prepareQuery(db, SELECT_PLANTS)];
  const nodeCount = prepareQuery(db, 'SELECT count(*) FROM tree');
  const nodes = prepareQuery(db, 'SELECT node, hash FROM tree WHERE node >= ? AND node < ? ORDER BY node');
  const checkpoint = prepareQuery(db, SELECT_CHECKPOINT);
  const standing = () => standingOf(checkpoint);
  const changing = prepareChanges(projecting);

  return {
    async checkpoint() {
      return standing().checkpoint;
    },

    async generation() {
      return standing().generation;
    },

    async get(keys) {
      const before = standing();
      const rows = await eachKey(lookUps, keys, ({ owner, id }) => plantOf(plant, owner, id));
      return { rows, ...before, upTo: standing().upTo };
    },

    list: (owner, after, limit) =>
      reads.do(owner, () => {
        const before = standing();
        const { rows, whole } = firstRows(plantsIn(plants, owner), after, limit);
        return { rows, whole, ...before, upTo: standing().upTo };
      }),

    async advance(from, to, changes, made) {
      const isDone = transaction(projecting, () => {
        if (hasRows(changing, changes.erased)) return false;
        if (!moveCheckpoint(changing, from, to)) return false;
        applyChanges(changing, changes, made);
        return true;
      });
      onAdvanced();
      return isDone;
    },

    async removeRows(owner, from) {
      return transaction(projecting, () => removeRows(changing, owner, from));
    },

    async nodes(start, end) {
      const rows = nodes.all(start, end) as unknown as [bigint, Uint8Array][];
      const gap = rows.findIndex(([node], at) => Number(node) !== start + at);
      return rows.slice(0, gap < 0 ? rows.length : gap).map(([, hash], at) => storedHash(start + at, hash));
    },

    async nodeCount() {
      return Number((nodeCount.get() as unknown as [bigint])[0]);
    },
  } satisfies Partial<Store>;
}
