import { headAt, verifyContent, verifyNext } from '../../log/event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent } from '../../log/event/event.ts';
import type { Changes, Rebuild, Store } from '../../log/store.ts';
import { GENERATION_LIMIT } from '../../log/view/generation.ts';
import { monotonic, randomUUID } from '../../time/host.ts';
import { pause } from '../../time/pause.ts';
import { firstDifference } from '../fold/difference.ts';
import { Fold, type OpenFold } from '../fold/fold.ts';
import type { Progress } from '../verify.ts';
import { stepsOf } from './project.ts';
import { TreeRebuild } from './tree.ts';

/** Milliseconds after its last step for which a rebuild prevents another from starting. */
const LEASE = 10_000;

/** Most attempts to catch up with the live read model. */
const MAX_ATTEMPTS = 100;

/**
 * Rebuilds the read model from the log while the service runs: builds it beside the live one, compares what the store
 * wrote with the fold, and replaces the live one in one step. Until that step, the live one is unchanged. When this
 * completes, no instance uses cached rows of the old one. Also rewrites the nodes of the log's tree.
 *
 * Yields progress, last when the new read model is live. Rejects if the log is broken, the new read model differs from
 * the fold, or another rebuild is running.
 */
export async function* rebuildReadModel(store: Store, openFold: OpenFold = () => new Fold()): AsyncGenerator<Progress> {
  await using stack = new AsyncDisposableStack();
  const lease = stack.adopt(new Lease(store), (taken) => taken.release());
  await lease.renew();
  if ((await store.erasures()).some(({ erasedBy }) => erasedBy === undefined))
    throw new Error('an owner is being erased; try again later');
  const rebuild = stack.adopt(await store.rebuild(), (opened) => opened.close());
  const fold = stack.adopt(openFold(), (opened) => opened.close());

  const tree = new TreeRebuild(store);

  let head: Head = EMPTY_HEAD;
  const verify = (events: readonly LoggedEvent[]) => {
    for (const event of events) {
      verifyNext(head, event);
      verifyContent(event);
      head = headAt(event);
    }
  };

  const { position: end } = await store.head();
  for await (const events of lease.renewing(store.read(0, { to: end }))) {
    verify(events);
    await fold.apply(events);
    await tree.take(events);
    yield { position: head.position, end };
  }
  await tree.finish();
  // Writing rows in key order is several times as fast as in event order.
  for await (const rows of lease.renewing(fold.rows()))
    for (const inserts of slices(rows, store.advanceLimit)) await applied(rebuild, { deletes: [], inserts });
  const difference = await firstDifference(lease.renewing(fold.rows()), rebuild.all());
  if (difference !== undefined)
    throw new Error(`the new read model differs from the fold of the log: ${difference.message}`);

  for (let attempt = 0; !(await rebuild.swap(head.position)); attempt++) {
    if (attempt === MAX_ATTEMPTS)
      throw new Error(
        `the live read model is beyond position ${head.position}, the end of the log, which has lost events: restore another backup, or continue without them: plantstore audit export, then audit import into an empty store`,
      );
    for await (const events of store.read(head.position)) {
      verify(events);
      for (const { changes } of stepsOf(store, events)) await applied(rebuild, changes);
    }
  }
  // After this pause, no instance uses cached rows of the old read model.
  await pause(2 * GENERATION_LIMIT);
  yield { position: head.position, end: head.position };
}

/** Pauses after each step, to let the service's transactions run. */
async function applied(rebuild: Rebuild, changes: Changes): Promise<void> {
  await rebuild.apply(changes);
  await pause(1);
}

function* slices<Item>(items: readonly Item[], size: number): Generator<Item[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

/** Prevents other rebuilds from dropping this one. If it is lost, the rebuild fails and the live read model stays. */
class Lease {
  readonly #store: Store;
  readonly #holder = randomUUID();
  #until = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  async renew(): Promise<void> {
    const now = monotonic();
    if (now < this.#until - LEASE / 2) return;
    if (!(await this.#store.lease('rebuild', this.#holder, LEASE)))
      throw new Error('another rebuild is running, or was killed less than 10 seconds ago; try again later');
    this.#until = now + LEASE;
  }

  async *renewing<Batch>(batches: AsyncIterable<Batch>): AsyncGenerator<Batch> {
    for await (const batch of batches) {
      await this.renew();
      yield batch;
    }
  }

  async release(): Promise<void> {
    if (this.#until > 0) await this.#store.lease('rebuild', this.#holder, 0);
  }
}
