import { randomUUID } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  type Change,
  ConnectionError,
  InternalError,
  OutcomeUnknownError,
  PlantAlreadyExistsError,
  PlantStore,
  PlantStoreError,
  TooManyRequestsError,
  UnauthenticatedError,
  UnavailableError,
  type WatchOptions,
} from '../../client/index.ts';
import { pause } from '../../client/retry.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

let service: LocalService;
let proxy: TcpProxy;
beforeAll(async () => {
  service = await startLocalService();
  proxy = await TcpProxy.start(Number(new URL(service.url).port));
});
afterEach(() => {
  proxy.fate = () => 'forward';
  vi.restoreAllMocks();
  vi.mocked(pause).mockImplementation(realPause);
});
afterAll(async () => {
  await proxy.close();
  await service.stop();
});

/** A new owner's store, through the proxy. */
async function newStore() {
  const token = await service.token(randomUUID());
  const direct = new PlantStore({ url: service.url, token });
  const names = async () => {
    const found: string[] = [];
    for await (const { name } of direct.list()) found.push(name);
    return found;
  };
  return { store: new PlantStore({ url: `http://127.0.0.1:${proxy.port}`, token }), direct, names };
}

/** What becomes of the first writes. */
function writesMeet(...fates: ReturnType<TcpProxy['fate']>[]): void {
  proxy.fate = (chunk) => (/^(POST|DELETE) /.test(chunk.toString('latin1')) ? (fates.shift() ?? 'forward') : 'forward');
}

/** How the service answers, one request after the other; the last answer is given from then on. */
interface Answer {
  /** 0: not at all. */
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}
const refusal = (status: number, reason: string, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { 'plantstore-reason': reason, ...headers },
  body: '{"error":14,"message":"no"}',
});

/** A server that answers so, until it is disposed of. */
async function serving(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    [Symbol.dispose]: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** A client of a server that gives these answers, and the idempotency keys that reached it. */
async function scripted(...answers: readonly Answer[]) {
  const keys: (string | undefined)[] = [];
  const server = await serving(({ headers }, response) => {
    keys.push(headers['idempotency-key'] as string | undefined);
    const { status, headers: sent, body } = answers[Math.min(keys.length, answers.length) - 1]!;
    if (status !== 0) response.writeHead(status, sent).end(body);
  });
  return { ...server, store: new PlantStore({ url: server.url, token: 'x' }), keys };
}

vi.mock(import('../../client/retry.ts'), async (original) => {
  const actual = await original();
  return { ...actual, pause: vi.fn(actual.pause) };
});
const realPause = vi.mocked(pause).getMockImplementation()!;

/** Has every pause end at once, and tells how long each would have been. */
function withoutPauses(): number[] {
  const pauses: number[] = [];
  vi.mocked(pause).mockImplementation(async (milliseconds) => {
    pauses.push(milliseconds);
  });
  return pauses;
}

const stream = (body: string): Answer => ({ status: 200, headers: { 'content-type': 'text/event-stream' }, body });

const WRITTEN: Answer = { status: 200, headers: { 'plantstore-position': '3' }, body: '{"name":"Fern"}' };
const FERN = { id: 7, name: 'Fern' };

describe('a write', () => {
  test('whose answers are lost is done once, and answered as if none had been lost', async () => {
    const { store, names } = await newStore();
    writesMeet('lose reply', 'lose reply', 'lose request');
    const added = await store.add(FERN);
    expect(added.replayed).toBe(true);
    expect(await names()).toEqual(['Fern']);
    writesMeet('lose reply');
    const deleted = await store.delete(7);
    expect(deleted).toEqual({ position: expect.any(BigInt), replayed: true });
    expect(deleted.position).toBeGreaterThan(added.position);
    expect(await names()).toEqual([]);
  });

  test('that never gets an answer has an unknown outcome, which its key finds out later', async () => {
    const { store, direct, names } = await newStore();
    withoutPauses();
    proxy.fate = () => 'lose reply';
    const error: OutcomeUnknownError = await store.add(FERN).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error.cause).toBeInstanceOf(ConnectionError);
    expect(await names()).toEqual(['Fern']);
    const { idempotencyKey } = error;
    expect(await direct.add(FERN, { idempotencyKey })).toMatchObject({ replayed: true });
  });

  test('that meets 503 and 500 is sent again under the same key, and no key serves two writes', async () => {
    withoutPauses();
    const busy = refusal(503, 'OVERLOADED', { 'retry-after': '1' });
    using fake = await scripted(busy, busy, refusal(503, 'OUTCOME_UNKNOWN'), refusal(500, 'INTERNAL'), WRITTEN);
    expect(await fake.store.add(FERN)).toEqual({ position: 3n, replayed: false });
    await fake.store.add(FERN);
    const [first, ...rest] = fake.keys;
    expect(first).toMatch(/^"[0-9a-f]{32}"$/);
    expect(rest.slice(0, 4)).toEqual([first, first, first, first]);
    expect(rest).toHaveLength(5);
    expect(rest[4]).not.toBe(first);
  });

  test.each([
    ['an outage', [refusal(503, 'STORE_UNAVAILABLE')], UnavailableError, 8],
    ['a limit', [refusal(429, 'RATE_LIMITED')], TooManyRequestsError, 8],
    ['a proxy without a service', [{ status: 502, body: '<html>' }], OutcomeUnknownError, 8],
    [
      'an unknown outcome and then an outage',
      [refusal(503, 'OUTCOME_UNKNOWN'), refusal(503, 'OVERLOADED')],
      OutcomeUnknownError,
      8,
    ],
    [
      'an unknown outcome and then a bad token',
      [refusal(503, 'OUTCOME_UNKNOWN'), refusal(401, 'TOKEN_INVALID')],
      OutcomeUnknownError,
      2,
    ],
    [
      'an unknown outcome and then a refusal',
      [refusal(503, 'OUTCOME_UNKNOWN'), refusal(400, 'PLANT_ALREADY_EXISTS')],
      PlantAlreadyExistsError,
      2,
    ],
    ['a proxy that refuses', [{ status: 404, body: '<html>' }], PlantStoreError, 1],
    ['a fault of the service', [refusal(500, 'INTERNAL')], OutcomeUnknownError, 8],
    [
      'a fault of the service and then a refusal',
      [refusal(500, 'INTERNAL'), refusal(400, 'PLANT_ALREADY_EXISTS')],
      PlantAlreadyExistsError,
      2,
    ],
    ['a server of something else', [{ status: 501, body: '<html>' }], OutcomeUnknownError, 1],
    ['a bad token', [refusal(401, 'TOKEN_INVALID')], UnauthenticatedError, 1],
    ['a refusal', [refusal(400, 'PLANT_ALREADY_EXISTS')], PlantAlreadyExistsError, 1],
    ['a pause that is too long', [refusal(503, 'OVERLOADED', { 'retry-after': '61' })], UnavailableError, 1],
  ])('ends on %s with what it means, after as many attempts as make sense', async (_, answers, error, attempts) => {
    withoutPauses();
    using fake = await scripted(...answers);
    await expect(fake.store.add(FERN)).rejects.toThrow(error);
    expect(fake.keys).toHaveLength(attempts);
  });

  test('ends at once when its signal aborts in a pause', async () => {
    using fake = await scripted(refusal(503, 'OVERLOADED', { 'retry-after': '60' }));
    const stop = new AbortController();
    const ended = fake.store.add(FERN, { signal: stop.signal });
    while (fake.keys.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    stop.abort(new Error('enough'));
    await expect(ended).rejects.toThrow('enough');
    expect(fake.keys).toHaveLength(1);
  });

  test('adds no listener of its own to a signal that many calls share', async () => {
    using fake = await scripted(refusal(503, 'OVERLOADED', { 'retry-after': '60' }));
    const stop = new AbortController();
    const { signal } = stop;
    vi.mocked(pause).mockClear();
    const ended = Promise.allSettled(Array.from({ length: 12 }, () => fake.store.get(7, { signal })));
    while (vi.mocked(pause).mock.calls.length < 12) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    const reason = new Error('enough');
    stop.abort(reason);
    expect(await ended).toEqual(Array(12).fill({ status: 'rejected', reason }));
  });
});

describe('a service that takes requests and never answers', () => {
  const NEVER = { status: 0 };

  test('is given up on after the time-out of each attempt: a write may have been done, a read was not', async () => {
    withoutPauses();
    using fake = await scripted(NEVER);
    const store = new PlantStore({ url: fake.url, token: 'x', timeout: 600 });
    await expect(store.add(FERN)).rejects.toThrow(OutcomeUnknownError);
    expect(new Set(fake.keys).size).toBe(1);
    expect(fake.keys).toHaveLength(8);
    await expect(store.get(7)).rejects.toThrow(ConnectionError);
  });

  test('is left at once when the signal aborts', async () => {
    using fake = await scripted(NEVER);
    const stop = new AbortController();
    const { signal } = stop;
    const watching = fake.store.watch({ signal });
    expect(await watching.next()).toEqual({ done: false, value: { type: 'reset' } });
    const calls = [fake.store.add(FERN, { signal }), fake.store.delete(7, { signal }), fake.store.get(7, { signal })];
    const all = Promise.allSettled([...calls, fake.store.list({ signal }).next(), watching.next()]);
    while (fake.keys.length < 5) await new Promise((resolve) => setTimeout(resolve, 5));
    const reason = new Error('enough');
    stop.abort(reason);
    expect(await all).toEqual(Array(5).fill({ status: 'rejected', reason }));
  });
});

describe('a token function', () => {
  test('that throws at once after the end of the call leaves nothing behind', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    const token = () => {
      throw new Error('signed out');
    };
    const store = new PlantStore({ url: 'http://127.0.0.1:1', token });
    await expect(store.get(7, { signal: AbortSignal.abort(new Error('left')) })).rejects.toThrow('left');
    await new Promise(setImmediate);
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  test('that returns no token is refused in words', async () => {
    const token = () => undefined as unknown as string;
    const store = new PlantStore({ url: 'http://127.0.0.1:1', token, fetch: () => expect.unreachable() });
    await expect(store.get(7)).rejects.toThrow('the token function must return a token, and returned undefined');
  });
});

test('where no answer arrives, the error names the URL, and in a page of another origin what may be missing', async () => {
  const store = new PlantStore({ url: 'http://127.0.0.1:1', token: 'x' });
  await expect(store.get(7)).rejects.toThrow(
    /^no complete answer arrived from http:\/\/127.0.0.1:1\/plants\/7\?view=FULL$/,
  );
  vi.stubGlobal('location', { origin: 'https://page.example' });
  await expect(store.get(7)).rejects.toThrow('its CORS_ORIGINS must name https://page.example');
  vi.stubGlobal('location', { origin: 'http://127.0.0.1:1' });
  await expect(store.get(7)).rejects.not.toThrow('CORS_ORIGINS');
  vi.stubGlobal('location', { origin: 'https://page.example' });
  vi.stubGlobal('navigator', { onLine: false });
  await expect(store.get(7)).rejects.toThrow(/\?view=FULL; this device is offline$/);
  vi.unstubAllGlobals();
});

test('where an answer is late, the error says after how long, and in a page that connections may be missing', async () => {
  withoutPauses();
  using fake = await scripted({ status: 0 });
  const store = new PlantStore({ url: fake.url, token: 'x', timeout: 100 });
  await expect(store.get(7)).rejects.toThrow(/\?view=FULL within 100 ms$/);
  vi.stubGlobal('location', { origin: 'https://page.example' });
  const connections = 'a browser has six HTTP/1.1 connections to a host, and each watch holds one';
  await expect(store.get(7)).rejects.toThrow(`within 100 ms; ${connections}`);
  const { setTimeout } = globalThis;
  // As if 45 s had gone by.
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, milliseconds: number, ...rest: []) =>
    setTimeout(run, milliseconds === 45_000 ? 100 : milliseconds, ...rest)) as never);
  const { promise, resolve } = Promise.withResolvers<string>();
  const watching = store.watch({ onDisconnect: ({ message }) => resolve(message) });
  await watching.next();
  await watching.next();
  expect(await promise).toBe(`no complete answer arrived from ${fake.url}/plants within 45000 ms; ${connections}`);
  vi.unstubAllGlobals();
});

/** What the Fetch standard makes of a redirect that is not followed. */
const REDIRECT_IN_BROWSER = { type: { value: 'opaqueredirect' }, status: { value: 0 }, ok: { value: false } };

test('a redirect is not followed: the error says what it is, and a write has no unknown outcome', async () => {
  using other = await scripted(WRITTEN);
  using fake = await scripted({ status: 301, headers: { location: `${other.url}/plants` } });
  for (const call of [() => fake.store.add(FERN), () => fake.store.get(7), () => fake.store.delete(7)]) {
    const error = await call().catch((error) => error);
    expect(error).toBeInstanceOf(PlantStoreError);
    expect(error).toMatchObject({ status: 301, message: 'the answer is a redirect; set url to where it leads' });
  }
  expect(other.keys).toEqual([]);
});

test('a redirect whose status a browser withholds is told as one', async () => {
  const fetch = async () => Object.defineProperties(new Response(), REDIRECT_IN_BROWSER);
  const store = new PlantStore({ url: 'http://127.0.0.1:1', token: 'token', fetch });
  await expect(store.get(7)).rejects.toMatchObject({ message: 'the answer is a redirect; set url to where it leads' });
});

test('fetch is called as browsers want it: as a function', async () => {
  using fake = await scripted({ status: 200, body: '{"id":7,"name":"Fern"}' });
  const strict = function (this: unknown, ...call: Parameters<typeof fetch>) {
    if (this !== undefined) throw new TypeError('Illegal invocation');
    return fetch(...call);
  };
  const store = new PlantStore({ url: fake.url, token: 'x', fetch: strict });
  expect(await store.get(7)).toEqual({ id: 7n, name: 'Fern' });
  vi.stubGlobal('fetch', undefined);
  expect(() => new PlantStore({ url: fake.url, token: 'x' })).toThrow('there is no fetch here: pass one');
  vi.unstubAllGlobals();
});

describe('a token function that never returns', () => {
  const never = () => new Promise<string>(() => {});

  test('ends the call after the time-out of an attempt, and nothing was sent', async () => {
    using fake = await scripted(WRITTEN);
    const signals: AbortSignal[] = [];
    const token = (signal: AbortSignal) => {
      signals.push(signal);
      return never();
    };
    const store = new PlantStore({ url: fake.url, token, timeout: 50 });
    await expect(store.add(FERN)).rejects.toThrow('the token function did not return in time');
    expect(fake.keys).toEqual([]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test('ends the call too when it is asked for another token', async () => {
    using fake = await scripted(refusal(401, 'TOKEN_INVALID'));
    let asked = 0;
    const store = new PlantStore({ url: fake.url, token: () => (asked++ === 0 ? 'old' : never()), timeout: 200 });
    await expect(store.get(7)).rejects.toThrow('the token function did not return in time');
  });

  test('is left at once when the signal aborts', async () => {
    using fake = await scripted(WRITTEN);
    // No attempt ends by itself.
    const store = new PlantStore({ url: fake.url, token: never, timeout: 2 ** 31 - 1 });
    const stop = new AbortController();
    const { signal } = stop;
    const watching = store.watch({ signal });
    await watching.next();
    const all = Promise.allSettled([store.add(FERN, { signal }), store.get(7, { signal }), watching.next()]);
    const reason = new Error('enough');
    stop.abort(reason);
    expect(await all).toEqual(Array(3).fill({ status: 'rejected', reason }));
  });
});

describe('a read', () => {
  test('waits as long as the service asks for, and longer from one failure to the next', async () => {
    const pauses = withoutPauses();
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    const plain = refusal(503, 'OVERLOADED');
    using fake = await scripted(plain, plain, plain, refusal(503, 'OVERLOADED', { 'retry-after': '7' }), {
      status: 200,
      body: '{"id":7,"name":"Fern"}',
    });
    expect(await fake.store.get(7)).toEqual({ id: 7n, name: 'Fern' });
    expect(pauses).toEqual([50, 100, 200, 7400]);
  });

  test.each([
    ['an answer that is cut off', { status: 200, body: '{"id":7,"na' }, ConnectionError, 8],
    ['an answer that is none', { status: 200, body: '{"id":7}' }, ConnectionError, 8],
    ['a fault of the service', refusal(500, 'INTERNAL'), InternalError, 8],
  ])('ends on %s', async (_, answer, error, attempts) => {
    withoutPauses();
    using fake = await scripted(answer);
    await expect(fake.store.get(7)).rejects.toThrow(error);
    expect(fake.keys).toHaveLength(attempts);
  });
});

describe('a watch', () => {
  test('that is asked to wait a month waits, and for ten minutes', async () => {
    using fake = await scripted(refusal(503, 'OVERLOADED', { 'retry-after': '2592000' }));
    const { setTimeout } = globalThis;
    const waits: number[] = [];
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, wait: number, ...rest: []) => {
      waits.push(wait);
      return setTimeout(run, wait, ...rest);
    }) as never);
    const stop = new AbortController();
    const watching = fake.store.watch({ signal: stop.signal });
    await watching.next();
    const next = watching.next();
    while (!waits.includes(600_000)) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(Math.max(...waits)).toBe(600_000);
    stop.abort();
    await expect(next).rejects.toThrow();
    expect(fake.keys).toHaveLength(1);
  });

  test('says of another page that it is no event stream', async () => {
    withoutPauses();
    using fake = await scripted({ status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' });
    const { promise, resolve } = Promise.withResolvers<string>();
    const watching = fake.store.watch({ onDisconnect: ({ message }) => resolve(message) });
    await watching.next();
    const next = watching.next();
    expect(await promise).toBe('the answer is no event stream, but text/html; does url lead to the service?');
    void watching.return();
    await next;
  });

  test('goes on where its connection was cut, with nothing left out and nothing twice', async () => {
    const { store, direct } = await newStore();
    const stop = new AbortController();
    const seen: string[] = [];
    const textOf = (change: Change) =>
      change.type === 'added'
        ? `added ${change.plant.id}`
        : change.type === 'deleted'
          ? `deleted ${change.id}`
          : change.type;
    await direct.add({ id: 1, name: '' });
    for await (const change of store.watch({ signal: stop.signal })) {
      seen.push(textOf(change));
      if (seen.length === 3) {
        await direct.add({ id: 2, name: '' });
      } else if (seen.length === 4) {
        proxy.cut();
        await direct.add({ id: 3, name: '' });
        await direct.delete(1);
      } else if (seen.length === 6) {
        proxy.cut();
        await direct.add({ id: 4, name: '' });
      } else if (seen.length === 7) break;
    }
    expect(seen).toEqual(['reset', 'added 1', 'ready', 'added 2', 'added 3', 'deleted 1', 'added 4']);
  });

  test('comes back after refusals and outages, and ends on a token that is not renewed', async () => {
    const pauses = withoutPauses();
    using fake = await scripted(
      refusal(429, 'TOO_MANY_WATCHES'),
      refusal(503, 'OVERLOADED', { 'retry-after': '3' }),
      refusal(500, 'INTERNAL'),
      refusal(503, 'OVERLOADED', { 'retry-after': '120' }),
      stream('retry: 20\n\nevent: added\ndata: {"id":9007199254740993,"name":"Oak"}\n\nevent: rea'),
      stream('event: ready\nid: 5\ndata: {"position":5}\n\nevent: of tomorrow\nid: 6\ndata: {}\n\n'),
      stream(
        'event: deleted\nid: 7\ndata: {"id":9007199254740993}\n\nevent: end\ndata: {"error":16,"message":"no"}\n\n',
      ),
      refusal(401, 'TOKEN_INVALID'),
    );
    const seen: Change[] = [];
    const lost: (PlantStoreError | ConnectionError)[] = [];
    let connections = 0;
    const listeners: WatchOptions = {
      onConnect: () => connections++,
      onDisconnect: (error) => lost.push(error),
    };
    const watching = async () => {
      for await (const change of fake.store.watch(listeners)) seen.push(change);
    };
    await expect(watching()).rejects.toThrow(UnauthenticatedError);
    expect(lost.map((error) => (error instanceof PlantStoreError ? error.reason : error.message))).toEqual([
      ...['TOO_MANY_WATCHES', 'OVERLOADED', 'INTERNAL', 'OVERLOADED', 'the stream ended', 'the stream ended'],
      'the service ended the stream: no',
    ]);
    expect(connections).toBe(3);
    const reset = { type: 'reset' };
    expect(seen).toEqual([
      ...[reset, reset, reset, reset, reset, { type: 'added', plant: { id: 9007199254740993n, name: 'Oak' } }],
      ...[reset, { type: 'ready', position: 5n }],
      { type: 'deleted', id: 9007199254740993n, position: 7n },
    ]);
    expect(pauses.some((milliseconds) => milliseconds >= 3000 && milliseconds < 10_000)).toBe(true);
    expect(pauses.some((milliseconds) => milliseconds >= 120_000)).toBe(true);
  });

  test('waits no longer for each stream that ended without news', async () => {
    const pauses = withoutPauses();
    using fake = await scripted(...Array(12).fill(stream('retry: 20\n\n:\n\n')), refusal(401, 'TOKEN_INVALID'));
    const watching = async () => {
      for await (const { type } of fake.store.watch()) expect(type).toBe('reset');
    };
    await expect(watching()).rejects.toThrow(UnauthenticatedError);
    expect(pauses).toHaveLength(12);
    expect(Math.max(...pauses)).toBeLessThan(200);
  });

  test('makes a new connection when the old one falls silent, and goes on where that one had come to', async () => {
    const { setTimeout } = globalThis;
    // As if 45 s had gone by.
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, milliseconds: number, ...rest: []) =>
      setTimeout(run, milliseconds === 45_000 ? 300 : milliseconds, ...rest)) as never);
    withoutPauses();
    const asked: unknown[] = [];
    using server = await serving(({ headers }, response) => {
      asked.push(headers['last-event-id']);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (asked.length === 1) response.write('event: ready\nid: 5\ndata: {"position":5}\n\n');
      else response.end('event: deleted\nid: 6\ndata: {"id":7}\n\n');
    });
    const seen: Change[] = [];
    for await (const change of new PlantStore({ url: server.url, token: 'x' }).watch())
      if (seen.push(change) === 3) break;
    expect(seen.slice(1)).toEqual([
      { type: 'ready', position: 5n },
      { type: 'deleted', id: 7n, position: 6n },
    ]);
    // On a busy machine the second falls silent, too.
    expect(asked[0]).toBeUndefined();
    expect(new Set(asked.slice(1))).toEqual(new Set(['5']));
  });

  test('outlives a stream that ends while its caller is busy, and tells all of it', async () => {
    withoutPauses();
    const plants = 1_000;
    const name = '🌱'.repeat(1_024);
    const added = (id: number) => `event: added\ndata: {"id":${id},"name":"${name}"}\n\n`;
    const answers = [
      [...Array.from({ length: plants }, (_, id) => added(id)), 'event: ready\nid: 5\ndata: {"position":5}\n\n'],
      ['event: deleted\nid: 6\ndata: {"id":7}\n\n'],
    ];
    // As the service sends a stream: the end of the connection is the end of the answer.
    using server = await serving((_, response) => {
      response.removeHeader('transfer-encoding');
      response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' });
      response.end(answers.shift()!.join(''));
    });
    const types: string[] = [];
    for await (const { type } of new PlantStore({ url: server.url, token: 'x' }).watch()) {
      if (types.push(type) % 20 === 0) await realPause(100, undefined);
      if (type === 'deleted') break;
    }
    expect(types).toEqual(['reset', ...Array(plants).fill('added'), 'ready', 'deleted']);
  }, 60_000);
});
