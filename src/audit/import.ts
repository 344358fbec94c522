import { counted } from '../domain/counted.ts';
import { BrokenChainError, headAfterIntact, headAt } from '../log/event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent } from '../log/event/event.ts';
import type { Store } from '../log/store.ts';
import type { Failure } from './checks/check.ts';
import { Erasures } from './checks/contents.ts';
import { flawOf } from './checks/decisions.ts';
import { Fold } from './fold/fold.ts';
import { project } from './project.ts';

/** Events per append. Each append is a transaction that the disk or a majority must confirm. */
const APPEND_EVENTS = 2_000;

/** Verifies a whole log as an import does, without writing. Yields positions. Rejects at the first invalid event. */
export async function* checkImport(batches: AsyncIterable<readonly LoggedEvent[]>): AsyncGenerator<number> {
  for await (const batch of examined(batches)) yield batch.at(-1)?.position ?? 0;
}

/**
 * Imports a whole log into an empty store, with the same positions, times and hashes. Verifies every event before
 * writing it. A store that contains a beginning of the same log, from an interrupted import, gets the rest. Yields the
 * positions reached. The read model is up to date, unless the erasure of an owner is still to come whose events have no
 * content any more: then it stays before these, so that no service starts on such a beginning.
 *
 * Rejects at the first invalid event, or if the store contains another log. The store then contains a valid, possibly
 * empty, beginning of the log, and the import can be repeated. Rejects, too, if an owner was erased since the export
 * from which the store got its beginning: nothing would remove what the store has of that owner.
 */
export async function* importLog(store: Store, batches: AsyncIterable<readonly LoggedEvent[]>): AsyncGenerator<number> {
  const start = await store.head();
  let head: Head = EMPTY_HEAD;
  let waiting: LoggedEvent[] = [];
  let lastErasure = 0;
  for await (const batch of examined(batches)) {
    await checkErased(store, start.position, batch);
    for (const event of batch) {
      head = headAt(event);
      lastErasure = Math.max(lastErasure, event.erasedBy ?? 0);
      if (head.position === start.position) checkSame(start, head);
      if (head.position > start.position) waiting.push(event);
    }
    if (waiting.length < APPEND_EVENTS) continue;
    await append(store, waiting);
    if (head.position >= lastErasure) await project(store, { written: waiting });
    waiting = [];
    yield head.position;
  }
  if (head.position < start.position)
    throw new Error(
      `the store has ${counted(start.position, 'event')}, more than the ${head.position} to import; import into an empty store`,
    );
  await append(store, waiting);
  await project(store, { written: waiting });
  yield head.position;
}

function checkSame(store: Head, imported: Head): void {
  if (Buffer.compare(store.hash, imported.hash) !== 0)
    throw new Error(
      `the store contains another log: its event at position ${store.position} differs from the one to import; import into an empty store`,
    );
}

/**
 * The store, which ends at a position, must not have the content of an event that an erasure behind that has removed.
 */
async function checkErased(store: Store, end: number, imported: readonly LoggedEvent[]): Promise<void> {
  const erased = new Map<number, LoggedEvent>();
  for (const each of imported) if (each.position <= end && (each.erasedBy ?? 0) > end) erased.set(each.position, each);
  if (erased.size === 0) return;
  for await (const events of store.read(Math.min(...erased.keys()) - 1, { to: Math.max(...erased.keys()) }))
    for (const event of events) {
      const same = erased.get(event.position);
      if (event.content === undefined || same === undefined) continue;
      // First, or an operator would take another log, which may be in use, for what an earlier import left.
      checkSame(headAt(event), headAt(same));
      throw new Error(
        `the store has the content of the event at position ${event.position}, of an owner who was erased since: import into an empty store; if an earlier import made this one, remove it`,
      );
    }
}

/** The store may append fewer, and then says at the next one whether it refuses that. */
async function append(store: Store, events: readonly LoggedEvent[]): Promise<void> {
  for (let rest = events; rest.length > 0; ) {
    const appended = await store.append(rest);
    if (appended === 0)
      throw new Error(
        'another process writes to the store; stop the service that uses it, and import into an empty store',
      );
    rest = rest.slice(appended);
  }
}

/**
 * Passes batches of a log on, from its first event, after verifying them: the chain, the contents, and whether each
 * event was allowed on the state before it. Memory is bounded for any input. Rejects with BrokenChainError at the first
 * failure, before the batch that contains it; and at the end, if content is missing without an erasure.
 */
async function* examined(batches: AsyncIterable<readonly LoggedEvent[]>): AsyncGenerator<readonly LoggedEvent[]> {
  using fold = new Fold({ asksDecisions: true });
  const erasures = new Erasures();
  let head: Head = EMPTY_HEAD;
  for await (const batch of batches) {
    for (const event of batch) {
      // The chain comes first, because it locates damage.
      if (event.position > head.position + 1) refuse({ position: head.position + 1, message: lacking(event.position) });
      head = headAfterIntact(head, event);
      refuse(flawOf(event));
    }
    await fold.apply(batch);
    refuse(fold.misfit);
    erasures.take(batch);
    yield batch;
  }
  // An erased event precedes its OwnerErased event, so the counts are known only at the end.
  refuse(erasures.failure());
}

const lacking = (next: number): string =>
  `the next event has position ${next}; an import needs the whole log, exported without --after, --from, --owner and --id`;

function refuse(failure: Failure | undefined): void {
  if (failure !== undefined) throw new BrokenChainError(failure.position!, failure.message);
}
