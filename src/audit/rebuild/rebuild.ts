import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { headAt, verifyNext } from '../../log/event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent } from '../../log/event/event.ts';
import type { Changes, Rebuild, Store } from '../../log/store.ts';
import { GENERATION_LIMIT } from '../../log/view/generation.ts';
import { firstDifference } from '../fold/difference.ts';
import { Fold } from '../fold/fold.ts';
import type { Progress } from '../verify.ts';
import { stepsOf } from './project.ts';
import { TreeRebuild } from './tree.ts';

/** Milliseconds after its last step for which a rebuild keeps others from starting one. */
const LEASE = 10_000;

/** Times that a rebuild catches up with a read model that moves on before it gives up. */
const MAX_ATTEMPTS = 100;

/**
 * Builds the read model anew from the log, beside the live one, while the service runs; compares what the store then holds with
 * the fold; and puts it in the live one's place in one step. Until then the live one stays as it is, whenever this ends. Once this
 * has ended, no instance answers or decides from what it remembered of the rows before. The nodes of the log's tree are written
 * anew on the way.
 * Yields progress, last when it is in place. Rejects when the log is broken, when the new read model is not the fold,
 * or when another rebuild is running.
 */
export async function* rebuildReadModel(store: Store): AsyncGenerator<Progress> {
  await using stack = new AsyncDisposableStack();
  const lease = stack.adopt(new Lease(store), (taken) => taken.release());
  await lease.renew();
  if ((await store.erasures()).some(({ erasedBy }) => erasedBy === undefined))
    throw new Error('an owner is being erased: try again when that has ended');
  const rebuild = stack.adopt(await store.rebuild(), (opened) => opened.close());
  const fold = stack.adopt(new Fold(), (opened) => opened.close());

  const tree = new TreeRebuild(store);

  let head: Head = EMPTY_HEAD;
  const verify = (events: readonly LoggedEvent[]) => {
    for (const event of events) {
      verifyNext(head, event);
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
  // In the order of their keys, rows are written side by side, several times as fast as in the order of events.
  for await (const rows of lease.renewing(fold.rows()))
    for (const inserts of slices(rows, store.advanceLimit)) await applied(rebuild, { deletes: [], inserts });
  const difference = await firstDifference(lease.renewing(fold.rows()), rebuild.all());
  if (difference !== undefined) throw new Error(`the new read model is not the fold of the log: ${difference.message}`);

  for (let attempt = 0; !(await rebuild.swap(head.position)); attempt++) {
    if (attempt === MAX_ATTEMPTS)
      throw new Error(`the live read model stands beyond position ${head.position}, the end of the log`);
    for await (const events of store.read(head.position)) {
      verify(events);
      for (const { changes } of stepsOf(store, events)) await applied(rebuild, changes);
    }
  }
  // No instance answers from what it remembers of the rows before any more.
  await sleep(2 * GENERATION_LIMIT);
  yield { position: head.position, end: head.position };
}

/** Lets the service's own transactions have their turn after each step. */
async function applied(rebuild: Rebuild, changes: Changes): Promise<void> {
  await rebuild.apply(changes);
  await sleep(1);
}

function* slices<Item>(items: readonly Item[], size: number): Generator<Item[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

/** Keeps others from dropping what is being built. Without it the build ends with an error, and the live read model stays. */
class Lease {
  readonly #store: Store;
  readonly #holder = randomUUID();
  #until = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  async renew(): Promise<void> {
    const now = performance.now();
    if (now < this.#until - LEASE / 2) return;
    if (!(await this.#store.lease('rebuild', this.#holder, LEASE)))
      throw new Error('another rebuild is running, or was killed in the last 10 seconds; try again later');
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
