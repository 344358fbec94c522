import { headAt } from '../log/event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent } from '../log/event/event.ts';
import type { Store } from '../log/store.ts';
import { examined } from './examined.ts';
import { project } from './rebuild/project.ts';

/** Events in one append: each is a transaction that the disk or a majority has to confirm. */
const APPEND = 2_000;

/**
 * Asks of a whole log, from its first event on, all that an import asks, and writes nothing. Yields the positions reached.
 * Rejects, at the event where it is found, when something about it is wrong.
 */
export async function* checkImport(batches: AsyncIterable<readonly LoggedEvent[]>): AsyncGenerator<number> {
  for await (const batch of examined(batches)) yield batch.at(-1)?.position ?? 0;
}

/**
 * Brings a whole log, from its first event on, into an empty store: positions, times and hashes stay as they are, and everything
 * about an event is asked before it is written. A store that holds the beginning of the same log, from an import that was ended,
 * gets the rest. Yields the positions reached, the read model then being at them too.
 * Rejects, at the event where it is found, when something about the log is wrong or the store holds another; the store then holds
 * a whole beginning of the log, if only an empty one, which may be imported into again.
 */
export async function* importLog(store: Store, batches: AsyncIterable<readonly LoggedEvent[]>): AsyncGenerator<number> {
  const start = await store.head();
  let head: Head = EMPTY_HEAD;
  let waiting: LoggedEvent[] = [];
  for await (const batch of examined(batches)) {
    for (const event of batch) {
      head = headAt(event);
      if (head.position === start.position) checkSame(start, head);
      if (head.position > start.position) waiting.push(event);
    }
    if (waiting.length < APPEND) continue;
    await append(store, waiting);
    waiting = [];
    yield head.position;
  }
  if (head.position < start.position)
    throw new Error(
      `the store holds ${start.position} events, more than the ${head.position} to import; import into an empty store`,
    );
  await append(store, waiting);
  yield head.position;
}

function checkSame(store: Head, imported: Head): void {
  if (Buffer.compare(store.hash, imported.hash) !== 0)
    throw new Error(
      `the store holds another log: its event at position ${store.position} is not the one to import; import into an empty store`,
    );
}

/** The read model goes along, so that a service that starts on what is there so far need not hold it all in memory. */
async function append(store: Store, events: readonly LoggedEvent[]): Promise<void> {
  if (events.length > 0 && (await store.append(events)) < events.length)
    throw new Error(
      'somebody else writes to the store; stop the service that runs on it, and import into an empty store',
    );
  await project(store);
}
