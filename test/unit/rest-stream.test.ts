import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ListPlantsRequest } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import { refusalFor } from '../../src/auth/refusal.ts';
import type { Call } from '../../src/call.ts';
import type { WatchedLog, WatchReader } from '../../src/plants/watch/watch.ts';
import { Watches } from '../../src/plants/watch/watches.ts';
import { stopping } from '../../src/transport/failure.ts';
import { arrayStream } from '../../src/transport/rest/encode.ts';
import { client, expectError } from '../support/http.ts';
import { HttpApp } from '../support/http-app.ts';
import { ALICE } from '../support/principal.ts';

type Row = { name: string };

/** Batches that count what is taken of them, and tell when they are let go. */
class Batches implements AsyncIterableIterator<Row[]> {
  taken = 0;
  readonly returned = Promise.withResolvers<void>();
  readonly #next: (index: number) => Promise<Row[] | undefined>;

  /** `next` makes the batch of an index; undefined: there is none. */
  constructor(next: (index: number) => Promise<Row[] | undefined>) {
    this.#next = next;
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  async next(): Promise<IteratorResult<Row[]>> {
    const value = await this.#next(this.taken++);
    return value === undefined ? { done: true, value } : { done: false, value };
  }

  async return(): Promise<IteratorResult<Row[]>> {
    this.returned.resolve();
    return { done: true, value: undefined };
  }
}

const serving = (plants: AsyncIterable<Row[]>, nextCursor = '') =>
  HttpApp.rest({ listPlants: async () => ({ plants, nextCursor }) });

const ROWS = Array.from({ length: 1_000 }, (_, index) => ({ name: `${index} `.padEnd(100, 'x') }));

async function open(url: string): Promise<IncomingMessage> {
  const [response] = await once(
    get(`${url}/plants`, { agent: false }).on('error', () => {}),
    'response',
  );
  return response.on('error', () => {});
}

const longText = fc.tuple(fc.string({ unit: 'binary' }), fc.nat(5_000)).map(([text, times]) => text.repeat(times));

test('any batches of any rows are one JSON array', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(fc.record({ name: longText }))), async (batches) => {
      const source = new Batches(async (index) => batches[index]);
      expect(await text(arrayStream(source, JSON.stringify))).toBe(JSON.stringify(batches.flat()));
    }),
  );
});

describe('a list that fails', () => {
  test('before its first row is an Error', async () => {
    const failing = new Batches(async () => {
      throw new Error('secret');
    });
    await using app = await serving(failing, 'more');
    const reply = await client(app.url)('GET', '/plants?limit=1');
    expect(expectError(reply, 500, 13)).not.toContain('secret');
    expect(reply.headers).not.toHaveProperty('link');
    await failing.returned.promise;
  });

  test('after it is broken off, never ended', async () => {
    const failing = new Batches(async (index) => {
      if (index === 2) throw new Error('secret');
      return ROWS;
    });
    await using app = await serving(failing);
    const response = await open(app.url);
    let received = '';
    await expect(
      (async () => {
        for await (const chunk of response) received += chunk;
      })(),
    ).rejects.toThrow('aborted');
    expect(response.complete).toBe(false);
    expect(received).toMatch(/^\[\{/);
    expect(received).not.toMatch(/\]$/);
    expect(received).not.toContain('secret');
    expect(await app.logged('warn')).toMatchObject({ err: { message: 'secret' } });
    await failing.returned.promise;
  });
});

describe('a list is let go', () => {
  test('when its reader leaves in the middle', async () => {
    const endless = new Batches(async () => ROWS);
    await using app = await serving(endless);
    const response = await open(app.url);
    await once(response, 'data');
    response.destroy();
    await endless.returned.promise;
  });

  test('when its reader leaves before its first row', async () => {
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const silent = new Batches(() => {
      resolve();
      return new Promise(() => {});
    });
    await using app = await serving(silent);
    const request = get(`${app.url}/plants`, { agent: false }).on('error', () => {});
    await asked;
    request.destroy();
    await silent.returned.promise;
  });

  test('unread, when only its head is asked for', async () => {
    const endless = new Batches(async () => ROWS);
    await using app = await serving(endless, 'more');
    const reply = await client(app.url)('HEAD', '/plants?limit=5');
    expect(reply).toMatchObject({
      status: 200,
      text: '',
      headers: { link: '</plants?limit=5&cursor=more>; rel="next"' },
    });
    await endless.returned.promise;
    expect(endless.taken).toBe(0);
  });
});

test('a list is read no faster than its reader takes it, and others are answered meanwhile', async () => {
  const endless = new Batches(async () => ROWS);
  await using app = await HttpApp.rest({
    listPlants: async ({ limit }: ListPlantsRequest) => ({
      plants: limit === undefined ? endless : [],
      nextCursor: '',
    }),
  });
  const response = await open(app.url);
  response.pause();
  for (let request = 0; request < 300; request++)
    expect((await client(app.url)('GET', '/plants?limit=1')).text).toBe('[]');
  // What the kernel holds for both ends of a connection, and then some.
  expect(endless.taken * JSON.stringify(ROWS).length).toBeLessThan(32 * 1024 * 1024);
  response.destroy();
  await endless.returned.promise;
});

/** A log with one plant. */
const watchedLog = (read: object = {}) =>
  ({
    head: async () => {},
    list: async () => ({ plants: [{ id: 1n, name: 'Fern' }], position: 1 }),
    recent: () => [],
    status: { head: 1 },
    revalidateRows: () => undefined,
    onExtended: () => () => {},
    onRowsOutdated: () => () => {},
    replaced: new AbortController().signal,
    ...read,
  }) as unknown as WatchedLog;

test.each<[string, 'list' | 'head', Record<string, string>]>([
  ['its state', 'list', {}],
  ['what was missed', 'head', { 'last-event-id': '1' }],
])(
  'a watch that ends before %s is read is refused, and no stream begins that nobody ends',
  async (_, method, headers) => {
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<object>()];
    const read = () => {
      asked.resolve();
      return answer.promise;
    };
    const watches = new Watches(watchedLog({ [method]: read }), { maxWatches: 1, maxOwnerWatches: 1 });
    const open = (_call: Call, reader: WatchReader) => watches.open(ALICE, reader);
    await using app = await HttpApp.rest({ listPlants: async () => ({}) }, { listPlants: open });
    const reply = fetch(`${app.url}/plants`, { headers: { accept: 'text/event-stream', ...headers } });
    await asked.promise;
    watches.close(stopping());
    answer.resolve({ plants: [], position: 1 });
    expect((await reply).status).toBe(503);
    expect(await (await reply).json()).toMatchObject({ error: 14 });
  },
);

test('an event stream whose token is refused while its state waits for the keys ends once', async () => {
  const log = watchedLog();
  const watches = new Watches(log, { maxWatches: 1, maxOwnerWatches: 1 });
  let refused: Promise<void> | undefined;
  // All who ask meanwhile share the answer: the beginning, and the look at all watches.
  const confirm = () => {
    refused ??= sleep(600).then(() => Promise.reject(refusalFor('unknown_key')));
    return refused;
  };
  const validity = { until: 0, holds: false, confirm };
  const open = (_call: Call, reader: WatchReader) => watches.open({ ...ALICE, validity }, reader);
  await using app = await HttpApp.rest({ listPlants: async () => ({}) }, { listPlants: open });
  const asked = get(`${app.url}/plants`, { agent: false, headers: { accept: 'text/event-stream' } });
  const [response] = await once(asked, 'response');
  // An error that nobody hears fails the test.
  expect(await text(response)).toMatch(/^retry: \d+\n\nevent: end\ndata: \{"error":16,.*\}\n\n$/);
});

test('an event stream whose watch ends as it hands over its state ends once', async () => {
  const watches = new Watches(watchedLog(), { maxWatches: 1, maxOwnerWatches: 1 });
  const { delivered } = watches;
  watches.delivered = (steps) => {
    delivered.call(watches, steps);
    queueMicrotask(() => watches.close(stopping()));
  };
  const open = (_call: Call, reader: WatchReader) => watches.open(ALICE, reader);
  await using app = await HttpApp.rest({ listPlants: async () => ({}) }, { listPlants: open });
  const asked = get(`${app.url}/plants`, { agent: false, headers: { accept: 'text/event-stream' } });
  const [response] = await once(asked, 'response');
  // An error that nobody hears fails the test.
  expect(await text(response)).toMatch(/^retry: \d+\n\n$/);
});
