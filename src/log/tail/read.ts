import { clearTimer, monotonic, setTimer } from '../../time/host.ts';
import { freshAnswer } from '../../time/pause.ts';
import { slices } from '../batches.ts';
import { isIntact } from '../event/chain.ts';
import type { LoggedEvent } from '../event/event.ts';
import type { Store } from '../store.ts';
import { asErased, intactRange } from '../whole-range.ts';
import { type Follower, GENERATION_LIMIT } from './follower.ts';
import type { Tail } from './tail.ts';

/** Most events of a batch. */
const BATCH_EVENTS = 200;

/** How to read the log. */
export interface ReadOptions {
  /** Continues with new events for ever, whichever instance appends them. */
  readonly follow?: boolean;
  /** Ends the read, without an error. */
  readonly signal?: AbortSignal;
}

/**
 * The events after a position, in order, each once: from the store where the tail does not reach back, and up to the
 * last erasure, then from the tail. Without `follow` it ends at a head that includes everything acknowledged before the
 * first batch was requested. Its only state is a position, so it never skips or repeats an event, however slow its
 * reader is. When a batch is asked for, its contents were in the store GENERATION_LIMIT milliseconds ago at most.
 * Rejects with BrokenChainError where the store has lost an event.
 */
export async function* readLog(
  follower: Follower,
  after: number,
  { follow = false, signal }: ReadOptions,
): AsyncGenerator<readonly LoggedEvent[]> {
  const { tail } = follower;
  await follower.sync();
  const end = follow ? Number.POSITIVE_INFINITY : tail.head.position;
  const stopped = () => signal?.aborted === true;
  let position = after;
  while (position < end && !stopped()) {
    follower.replaced.throwIfAborted();
    await syncUnlessFresh(follower);
    if (position < tail.readableAfter) {
      for await (const batch of presentRange(follower, position)) {
        if (stopped()) return;
        const wanted = upTo(batch, end);
        position = wanted.at(-1)?.position ?? position;
        yield wanted;
        if (position >= end) return;
      }
      continue;
    }
    const batch = upTo(tail.after(position, BATCH_EVENTS), end);
    if (batch.length > 0) {
      position = batch.at(-1)!.position;
      yield batch;
    } else await extended(tail, [follower.replaced, signal]);
  }
}

/** Reads on to the log's end, unless that was done GENERATION_LIMIT milliseconds ago at most. */
async function syncUnlessFresh(follower: Follower): Promise<void> {
  if (monotonic() >= follower.checkedAt + GENERATION_LIMIT) await freshAnswer(GENERATION_LIMIT, follower.sync);
}

/**
 * The events after a position from the store, in batches, as the unfinished erasures will leave them. Ends where what
 * was read may have been erased since.
 */
async function* presentRange(follower: Follower, after: number): AsyncGenerator<readonly LoggedEvent[]> {
  const { store, tail } = follower;
  const { lastErasure } = tail;
  // What one of these removes may be gone by the time that it is told. What a later one does shows in the tail.
  const begun = (await store.unfinished()).filter(isIntact);
  for await (const read of intactRange(store, after))
    for (const batch of slices(read, BATCH_EVENTS)) {
      // This instance may have been frozen since the store answered.
      await syncUnlessFresh(follower);
      if (tail.lastErasure !== lastErasure) return;
      const left = batch.map((event) => asErased(event, begun));
      yield left.some(({ erases }) => erases !== undefined) ? await named(store, left) : left;
    }
}

/** The events, of which an OwnerErased names the owner only if it still does now. */
async function named(store: Store, events: readonly LoggedEvent[]): Promise<readonly LoggedEvent[]> {
  const unfinished = await freshAnswer(GENERATION_LIMIT, () => store.unfinished());
  const positions = new Set(unfinished.map(({ position }) => position));
  return events.map((event) => (positions.has(event.position) ? event : { ...event, erases: undefined }));
}

const upTo = (batch: readonly LoggedEvent[], end: number): readonly LoggedEvent[] =>
  (batch.at(-1)?.position ?? 0) <= end ? batch : batch.filter(({ position }) => position <= end);

/** Resolves when the tail's head moves, the tail begins again, a signal aborts, or so many milliseconds are over. */
export function extended(
  tail: Tail,
  signals: readonly (AbortSignal | undefined)[],
  milliseconds?: number,
): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimer(timer);
      for (const forget of forgets) forget();
      for (const signal of signals) signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = milliseconds === undefined ? undefined : setTimer(done, milliseconds);
    const forgets = [tail.onExtended(done), tail.onRowsOutdated(done)];
    for (const signal of signals) signal?.addEventListener('abort', done);
  });
}
