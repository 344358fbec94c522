import { keyString } from '../domain/plant.ts';
import { headAfterIntact } from '../log/event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent } from '../log/event/event.ts';
import { Lease } from '../log/lease.ts';
import { BrokenReadModelError, type Changes, type Nodes, PROJECTOR_LEASE, type Store } from '../log/store.ts';
import { GENERATION_LIMIT } from '../log/tail/follower.ts';
import { NodeBuilder } from '../log/tree/nodes.ts';
import { changesOf } from '../log/view/projector.ts';
import { pause } from '../time/pause.ts';
import { differences } from './fold/difference.ts';
import { Fold } from './fold/fold.ts';
import { checkpointOf, project } from './project.ts';
import { steadily, steadyView } from './steady.ts';
import type { Progress } from './verify.ts';

const STEP_NODES = 1_024;
/** Milliseconds until the projector's lease is asked for again. */
const LEASE_INTERVAL = 250;
/** Most faults of the store in a row while the lease is asked for. A reply that is lost is one. */
const MAX_FAULTS = 3;
/** Most attempts that may find the read model moved, or changed by another repair. */
const MAX_ATTEMPTS = 100;

const NO_CHANGES: Changes = { deletes: [], inserts: [] };
const NO_NODES: Nodes = { first: 0, hashes: [] };

/**
 * Repairs the read model and the nodes of the log's tree where they stand, while the service runs. It folds the log up
 * to the read model's checkpoint and changes what differs, in steps that compare the checkpoint: a step that comes late
 * does nothing. It holds the projector's lease meanwhile, so that the checkpoint stays. Then it advances the read model
 * to the end of the log. When it completes, no instance uses memory of earlier rows.
 *
 * Yields progress, last when all is repaired. Rejects if the log is broken, or shorter than the read model, and with
 * ErasedMeanwhileError when owners are erased one after the other all the while.
 */
export const repairReadModel = (store: Store): AsyncGenerator<Progress> =>
  // The checkpoint is beyond an erasure that removes contents, unless somebody has set it back: then it moves there.
  steadily(store, (erasure) => repaired(store, erasure));

/** One attempt. Rejects with ErasedMeanwhileError when an owner was erased while the log was read. */
async function* repaired(store: Store, least: number): AsyncGenerator<Progress> {
  await using stack = new AsyncDisposableStack();
  const lease = stack.adopt(new Lease(store, PROJECTOR_LEASE), (taken) => taken.giveBack());
  const target = await targetOf(store, await checkpointOf(store), least);
  const view = await steadyView(store, { to: target });
  const fold = stack.use(new Fold({ shown: view.take }));
  const log = new FoldedLog(store, fold);
  for await (const position of log.foldTo(target)) yield { position, end: target };
  for (let attempt = 0; !(await attempted(store, log, lease, least)); attempt++)
    if (attempt === MAX_ATTEMPTS) throw new Error('other processes keep changing the read model; try again later');
  // The events that the read model moves over are verified too, because no start verifies events before the checkpoint.
  // A server that was deposed may know of less.
  const { position } = await store.head();
  for await (const _ of log.foldTo(Math.max(position, log.position))) await lease.has();
  // A running instance that has seen a higher checkpoint uses no rows, and moves nothing, below it.
  const end = await project(store, { changes: fittingChanges });
  // Unlike a step of a projector, one of a repair is durable, and with it all before it.
  for (let at = end; !(await store.advance(at, at, NO_CHANGES, NO_NODES)); ) at = await store.checkpoint();
  // After this pause, no instance uses remembered rows.
  await pause(2 * GENERATION_LIMIT);
  yield { position: end, end };
}

/** What events change in rows that are right. One that was decided on wrong rows may add a plant that is there. */
function fittingChanges(step: readonly LoggedEvent[]): Changes {
  const changes = changesOf(step);
  const deletes = new Map([...changes.deletes, ...changes.inserts].map((key) => [keyString(key.owner, key.id), key]));
  return { ...changes, deletes: [...deletes.values()] };
}

/** The position up to which rows and nodes are to be folded: the checkpoint, or the log's end if that is gone. */
const targetOf = async (store: Store, checkpoint: number | undefined, least: number): Promise<number> =>
  Math.max(checkpoint ?? (await store.head()).position, least);

/** Makes rows and nodes those of the fold. Returns false when somebody else has moved or changed them meanwhile. */
async function attempted(store: Store, log: FoldedLog, lease: Lease, least: number): Promise<boolean> {
  await taken(lease);
  const at = await checkpointOf(store);
  const target = await targetOf(store, at, least);
  for await (const _ of log.foldTo(target)) await lease.has();
  try {
    for await (const changes of wrongRows(store, log.fold, lease))
      if (!(await store.advance(at, at, changes, NO_NODES))) return false;
    if (!(await store.advance(at, target, NO_CHANGES, NO_NODES))) return false;
    // Repairs at one checkpoint compute the same, and those without one do not: another may have changed rows
    // meanwhile.
    if (at === undefined) return false;
    // Only now, since no step keeps nodes beyond the checkpoint.
    for (const nodes of log.nodes()) if (!(await store.advance(target, target, NO_CHANGES, nodes))) return false;
    return true;
  } catch (error) {
    // Another repair has changed the same rows.
    if (error instanceof BrokenReadModelError) return false;
    throw error;
  }
}

/** Resolves once the lease is taken. Rejects after some faults of the store in a row: on a full disk, reads go on. */
async function taken(lease: Lease): Promise<void> {
  for (let faults = 0; ; await pause(LEASE_INTERVAL)) {
    try {
      if (await lease.has()) return;
      faults = 0;
    } catch (fault) {
      faults++;
      if (faults === MAX_FAULTS) throw fault;
    }
  }
}

async function* wrongRows(store: Store, fold: Fold, lease: Lease): AsyncGenerator<Changes> {
  const snapshot = await store.snapshot();
  try {
    yield* holding(lease, differences(fold, holding(lease, snapshot.all()), store.advanceLimit));
  } finally {
    await snapshot.close();
  }
}

/** Renews the lease with each batch, so that the checkpoint stays however long all of them take. */
async function* holding<Batch>(lease: Lease, batches: AsyncIterable<Batch>): AsyncGenerator<Batch> {
  for await (const batch of batches) {
    await lease.has();
    yield batch;
  }
}

/** The log as far as it was verified and folded. */
class FoldedLog {
  readonly fold: Fold;
  readonly #store: Store;
  readonly #builder = new NodeBuilder();
  /** 32 bytes for 256 events. */
  readonly #nodes: Uint8Array[] = [];
  #head: Head = EMPTY_HEAD;

  constructor(store: Store, fold: Fold) {
    this.#store = store;
    this.fold = fold;
  }

  get position(): number {
    return this.#head.position;
  }

  /** Folds on to a position, and yields those that it has reached. Rejects if the log does not reach that far. */
  async *foldTo(position: number): AsyncGenerator<number> {
    if (position < this.position) throw behind(position, this.position);
    for await (const events of this.#store.read(this.position, { to: position })) {
      for (const event of events) this.#head = headAfterIntact(this.#head, event);
      await this.fold.apply(events);
      this.#nodes.push(...this.#builder.add(events).hashes);
      yield this.position;
    }
    if (this.position < position) throw tooShort(position);
  }

  *nodes(): Generator<Nodes> {
    for (let first = 0; first < this.#nodes.length; first += STEP_NODES)
      yield { first, hashes: this.#nodes.slice(first, first + STEP_NODES) };
  }
}

const behind = (checkpoint: number, folded: number) =>
  new Error(
    `the checkpoint of the read model is at position ${checkpoint}, before ${folded}, to which the log was read: another repair made it meanwhile, or somebody set it back; run the command again`,
  );

const tooShort = (position: number) =>
  new Error(
    `the read model is at position ${position}, beyond the end of the log, which has lost events: restore another backup, or continue without them: plantstore audit export, then audit import into an empty store`,
  );
