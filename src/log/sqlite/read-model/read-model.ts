import type { DatabaseSync } from 'node:sqlite';
import { textsOf } from '../../../domain/plant.ts';
import { BrokenReadModelError, type Changes, type Nodes, type Store } from '../../store.ts';
import { nodeCountOf, storedHashes } from '../../tree/nodes.ts';
import { firstRows } from '../batches.ts';
import { prepareQuery, transaction } from '../connection.ts';
import { isDamage } from '../damage.ts';
import { eachKey, type ReadQueue } from '../read-queue.ts';
import { PLANTS_CHECKPOINT } from '../schema.ts';
import { FIELD_PARAMETERS, PLANT_COLUMNS, plantOf, plantsIn, SELECT_PLANT, SELECT_PLANTS } from './rows.ts';
import { SELECT_CHECKPOINT, standingOf } from './snapshot.ts';

/** The read model. `lookUps`: the queue of reads by key. `onAdvanced`: called after a step. */
export function sqliteReadModel(db: DatabaseSync, reads: ReadQueue, lookUps: ReadQueue, onAdvanced: () => void) {
  const [plant, plants] = [prepareQuery(db, SELECT_PLANT), prepareQuery(db, SELECT_PLANTS)];
  const nodeCount = prepareQuery(db, 'SELECT count(*) FROM tree');
  const nodes = prepareQuery(db, 'SELECT node, hash FROM tree WHERE node >= ? AND node < ? ORDER BY node');
  const checkpoint = prepareQuery(db, SELECT_CHECKPOINT);
  const standing = () => standingOf(checkpoint);
  const changing = prepareChanges(db);

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
        const { rows, whole } = firstRows(plantsIn(plants, owner, after), undefined, limit);
        return { rows, whole, ...before, upTo: standing().upTo };
      }),

    async advance(from, to, changes, made) {
      const isDone = undamaged(() =>
        transaction(db, () => {
          if (changes.erased !== undefined && removeRows(changing, changes.erased, from!) > 0) return undefined;
          if (!moveCheckpoint(changing, from, to)) return false;
          applyChanges(changing, changes, made);
          return true;
        }),
      );
      onAdvanced();
      return isDone;
    },

    async nodes(start, end) {
      return storedHashes(start, nodes.all(start, end) as unknown as [bigint, unknown][]);
    },

    async nodeCount() {
      return Number((nodeCount.get() as unknown as [bigint])[0]);
    },
  } satisfies Partial<Store>;
}

/** Changes the read model. A file that is found damaged makes it useless, which no later attempt changes. */
function undamaged<T>(change: () => T): T {
  try {
    return change();
  } catch (error) {
    if (!isDamage(error)) throw error;
    const remedy = 'run plantstore audit verify, and go on as docs/operations.md says where it says NO';
    throw new BrokenReadModelError(`the database is damaged (${error.message})`, remedy);
  }
}

const AT = `WHERE name = ${PLANTS_CHECKPOINT} AND position = :from`;

/** Prepares the statements that change the read model and the nodes of the tree. */
const prepareChanges = (db: DatabaseSync) => ({
  move: db.prepare(`UPDATE checkpoints SET position = :to ${AT}`),
  // Rows are being removed only for an erasure right behind the checkpoint.
  repair: db.prepare(`UPDATE checkpoints SET generation = generation + 1, up_to = (SELECT position FROM events
    WHERE position = checkpoints.up_to AND position = :from + 1 AND erases_owner IS NOT NULL) ${AT}`),
  create: db.prepare(
    `INSERT INTO checkpoints (name, position, generation) VALUES (${PLANTS_CHECKPOINT}, :to, :generation)`,
  ),
  isThere: db.prepare(`SELECT 1 FROM checkpoints WHERE name = ${PLANTS_CHECKPOINT}`),
  begin: db.prepare(`UPDATE checkpoints SET up_to = :upTo ${AT}`),
  removeSome: db.prepare(`DELETE FROM plants WHERE owner = :owner
    AND id IN (SELECT id FROM plants WHERE owner = :owner ORDER BY id LIMIT :limit)`),
  remove: db.prepare('DELETE FROM plants WHERE owner = ? AND id = ?'),
  insert: db.prepare(`
    INSERT INTO plants (owner, ${PLANT_COLUMNS}) VALUES (?, ?, ${FIELD_PARAMETERS}) ON CONFLICT (owner, id) DO NOTHING`),
  node: db.prepare('INSERT OR REPLACE INTO tree (node, hash) VALUES (?, ?)'),
  truncate: db.prepare('DELETE FROM tree WHERE node NOT BETWEEN 0 AND ? - 1'),
});

type Statements = ReturnType<typeof prepareChanges>;

/**
 * Compares and moves the checkpoint within the caller's transaction, as Store.advance says. Returns whether it was
 * `from`.
 */
function moveCheckpoint(
  { move, repair, create, isThere, truncate }: Statements,
  from: number | undefined,
  to: number | undefined,
): boolean {
  if (from !== undefined && from !== to) return move.run({ from, to: to! }).changes === 1;
  if (from !== undefined && repair.run({ from }).changes === 0) return false;
  if (from === undefined && isThere.get() !== undefined) return false;
  // The generation of a lost checkpoint is lost too. Milliseconds are more than there were repairs.
  if (from === undefined && to !== undefined) create.run({ to, generation: Date.now() });
  if (to !== undefined) truncate.run(nodeCountOf(to));
  return true;
}

/** Rows that one step removes: a few milliseconds. */
const STEP_ROWS = 256;

/** Removes some rows of an erased owner within the caller's transaction. Returns their number. */
function removeRows({ begin, removeSome }: Statements, owner: string, from: number): number {
  if (begin.run({ from, upTo: from + 1 }).changes === 0) return 0;
  return Number(removeSome.run({ owner, limit: STEP_ROWS }).changes);
}

/** Applies changes within the caller's transaction. Throws BrokenReadModelError when they do not fit the rows. */
function applyChanges({ remove, insert, node }: Statements, { deletes, inserts }: Changes, nodes: Nodes): void {
  for (const { owner, id } of deletes) remove.run(owner, id);
  for (const row of inserts)
    if (insert.run(row.owner, row.id, ...textsOf(row)).changes === 0)
      throw new BrokenReadModelError('the read model has a plant that is to be added');
  for (const [at, hash] of nodes.hashes.entries()) node.run(nodes.first + at, hash);
}
