import { expect, test } from 'vitest';
import type { BrokenChainError } from '../../src/log/event/chain.ts';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import type { Store } from '../../src/log/store.ts';
import { intactRange, wholeRange } from '../../src/log/whole-range.ts';
import { nextEvents } from '../../src/publisher/publisher.ts';

const bytes = new Uint8Array();

/** A store that has events at these positions, two in a batch. */
const storeOf = (...positions: number[]): Pick<Store, 'read'> => ({
  async *read(after, { to = Number.POSITIVE_INFINITY } = {}) {
    const found = positions.filter((position) => position > after && position <= to);
    for (let from = 0; from < found.length; from += 2)
      yield found.slice(from, from + 2).map((position) => ({ position, bytes }) as LoggedEvent);
  },
});

/** The positions that were read, and the position of the error. */
async function read(events: AsyncIterable<readonly LoggedEvent[]>) {
  const positions: number[] = [];
  try {
    for await (const batch of events) positions.push(...batch.map(({ position }) => position));
    return { positions };
  } catch (error) {
    return { positions, missing: (error as BrokenChainError).position };
  }
}

test.each([
  ['whole', storeOf(1, 2, 3, 4), 0, 4, { positions: [1, 2, 3, 4] }],
  ['whole, from within', storeOf(1, 2, 3, 4), 2, undefined, { positions: [3, 4] }],
  ['of nothing', storeOf(1, 2), 2, 2, { positions: [] }],
  ['without its first event', storeOf(2, 3), 0, undefined, { positions: [], missing: 1 }],
  ['with a hole between batches', storeOf(1, 2, 4), 0, undefined, { positions: [1, 2], missing: 3 }],
  ['with a hole in a batch', storeOf(1, 2, 3, 5), 0, 5, { positions: [1, 2, 3], missing: 4 }],
  ['without its end', storeOf(1, 2), 0, 3, { positions: [1, 2], missing: 3 }],
])('a range %s', async (_, store, after, to, expected) => {
  expect(await read(wholeRange(store, after, to))).toEqual(expected);
});

/** A store with three events, of which the content of the last was changed. */
const changed: Pick<Store, 'read'> = {
  async *read(after) {
    const commitment = new Uint8Array(32);
    const events = [{ position: 1 }, { position: 2 }, { position: 3, content: commitment, commitment }];
    yield events.slice(after).map((event) => ({ ...event, bytes }) as LoggedEvent);
  },
};

test('a range with a content that was changed has all events before it', async () => {
  expect(await read(intactRange(changed, 0))).toEqual({ positions: [1, 2], missing: 3 });
});

test.each([
  ['a lost event', storeOf(1, 2, 4, 5)],
  ['an event whose content was changed', changed],
])('publication goes on up to %s, and reads nothing after it', async (_, store) => {
  expect(await nextEvents(store, 0)).toMatchObject([{ position: 1 }, { position: 2 }]);
  await expect(nextEvents(store, 2)).rejects.toMatchObject({ name: 'BrokenChainError', position: 3 });
});

test('publication has nothing to do at the end of the log', async () => {
  expect(await nextEvents(storeOf(1, 2), 2)).toEqual([]);
});

test('publication takes no more at a time than some MiB of events', async () => {
  const count = 4_000;
  const longest = 36 * 1024;
  let read = 0;
  const store: Pick<Store, 'read'> = {
    async *read(after) {
      for (; after + read < count; read += 250)
        yield Array.from({ length: 250 }, (_, index) => {
          const position = after + read + index + 1;
          return { position, bytes: { length: longest } } as LoggedEvent;
        });
    },
  };
  const events = await nextEvents(store, 0);
  expect(events.length).toBeLessThanOrEqual((4 * 1024 * 1024) / longest + 1);
  expect(read).toBe(0);
});
