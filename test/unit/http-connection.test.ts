import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { pino } from 'pino';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { Admission, type AdmissionLimits } from '../../src/transport/admission/admission.ts';
import { takePermit, WITHOUT_TOKEN } from '../../src/transport/http/authentication.ts';
import { readBody } from '../../src/transport/http/body.ts';
import { connectionOf } from '../../src/transport/http/connection.ts';
import { createHttpServer } from '../../src/transport/http/server.ts';
import { statusesIn } from '../support/http.ts';
import { HttpApp } from '../support/http-app.ts';

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const POST = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nfern';
const DELETE = GET.replace('GET', 'DELETE');
const QUICK = GET.replace('/', '/quick');
/** Of 15 KB. */
const LARGE = GET.replace('\r\n\r\n', `\r\nX: ${'x'.repeat(15_000)}\r\n\r\n`);

/** Most bytes that wait on a connection: what is beyond its bound is in Node's own buffers. */
const MOST_WAITING = 300_000;

const OPEN = 'x'.repeat(100_000);

/** A request that is being served until it is answered. */
interface Served {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: string;
  readonly answer: (text?: string) => void;
}

/** What is left to close after a test. */
let opened = new AsyncDisposableStack();
afterEach(() => opened.disposeAsync());

/** A server that answers when the test says so, and connections to it. */
async function start(limits: Partial<AdmissionLimits> = {}) {
  opened = new AsyncDisposableStack();
  const shed: string[] = [];
  const admission = new Admission(
    { maxInFlight: 8, maxWait: 60_000, requestMemory: 10_000_000, ...limits },
    (_protocol, reason) => shed.push(reason),
  );
  // Longer than the time limit of a test: they end no connection in the place of what is tested.
  const times = { maxConnections: 1_000, requestTimeout: 600, idleTimeout: 600 };
  const app = createHttpServer(pino({ level: 'silent' }), times, { admission, corsOrigins: ['*'] });
  const served: Served[] = [];
  app.addContentTypeParser('*', ({ raw, headers }, _payload, done) => readBody(raw, headers['content-length'], done));
  app.all('/', { preHandler: takePermit }, async ({ raw: request, body }, { raw: response }) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    served.push({ request, response, body: String(body ?? ''), answer: (text = '') => resolve(text) });
    return promise;
  });
  // Reads nothing.
  app.all('/unread', { onRequest: () => {} }, async () => '');
  // The answer comes before the body.
  app.all('/quick', { onRequest: (_request, reply) => void reply.send('quick') }, async () => '');
  app.get('/open', WITHOUT_TOKEN, async () => OPEN);
  await app.listen({ host: '127.0.0.1', port: 0 });
  opened.defer(async () => {
    app.server.closeAllConnections();
    await app.close();
  });
  /** A connection, with the server's side of it and what comes back on it until it closes. */
  const open = async () => {
    const accepted = once(app.server, 'connection');
    const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
    opened.defer(async () => void client.destroy());
    const answers = text(client);
    answers.catch(() => {});
    const [socket] = (await accepted) as [Socket];
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    return { client, socket, answers, closed };
  };
  /** Waits for the next request that is served, and takes it from the list. */
  const next = async (): Promise<Served> => {
    while (served.length === 0) await setImmediate();
    return served.shift()!;
  };
  return { admission, app, shed, served, open, next };
}

/** Waits until all that was sent is read or waits for its turn, and turns have come. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await setImmediate();
}

describe('the requests of a connection', () => {
  test('are served one at a time and in order, safe ones too, and each takes one permit', async () => {
    const { admission, served, open, next } = await start();
    const { client, answers } = await open();
    const methods = ['GET', 'POST', 'GET', 'GET', 'DELETE', 'POST', 'GET'];
    const requests = { GET, POST, DELETE } as Record<string, string>;
    client.write(methods.map((method) => requests[method]).join(''));
    for (const [index, method] of methods.entries()) {
      const { request, body, answer } = await next();
      await settle();
      expect(request.method).toBe(method);
      expect(body).toBe(method === 'POST' ? 'fern' : '');
      expect(served).toEqual([]);
      expect(admission.inFlight).toBe(1);
      answer(`(${index})`);
    }
    while (admission.inFlight > 0) await setImmediate();
    client.end();
    expect(Array.from((await answers).matchAll(/\((\d)\)/g), ([, index]) => Number(index))).toEqual([
      ...methods.keys(),
    ]);
  });

  test('may come cut anywhere', async () => {
    const { open, next } = await start();
    const { client, socket } = await open();
    client.setNoDelay(true);
    const bytes = POST + GET;
    for (let at = 0; at < bytes.length; at++) {
      client.write(bytes[at]!);
      while (socket.bytesRead <= at) await setImmediate();
    }
    const first = await next();
    expect(first.body).toBe('fern');
    first.answer();
    expect((await next()).request.method).toBe('GET');
  });

  test('beyond one wait in the socket: the client is held up, and all are served in the end', async () => {
    const { admission, open, next } = await start();
    const { client, socket, answers } = await open();
    const all = 600;
    client.write(LARGE.repeat(all));
    let request = await next();
    while (!socket.isPaused()) await setImmediate();
    await settle();
    expect(client.writableLength).toBeGreaterThan(0);
    for (let number = 1; number < all; number++) {
      request.answer();
      request = await next();
      expect(socket.bytesRead - number * LARGE.length).toBeLessThan(MOST_WAITING);
      expect(admission.held).toBeLessThan(MOST_WAITING);
    }
    request.response.setHeader('connection', 'close');
    request.answer();
    expect(statusesIn(await answers)).toEqual(Array(all).fill(200));
  });

  test('may have bodies that nobody reads yet, without more of them being held', async () => {
    const { admission, open } = await start();
    const { client, socket } = await open();
    client.write(`POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n${'x'.repeat(10_000_000)}`);
    while (!socket.isPaused()) await setImmediate();
    await settle();
    expect(socket.bytesRead).toBeLessThan(MOST_WAITING);
    expect(admission.held).toBeLessThan(MOST_WAITING);
  });

  test.each([
    ['that says so', ({ response }: Served) => response.setHeader('connection', 'close')],
    ['since the server stops', ({ request }: Served) => connectionOf(request.socket).stop()],
  ])('that wait are not served after an answer that ends the connection %s', async (_, end) => {
    const { served, open, next } = await start();
    const { client, socket, answers } = await open();
    client.write(POST + POST + LARGE);
    const request = await next();
    // The system takes a while to send the end.
    const final = socket._final.bind(socket);
    socket._final = (done) => void settle().then(() => final(done));
    end(request);
    request.answer();
    expect(statusesIn(await answers)).toEqual([200]);
    await settle();
    expect(served).toEqual([]);
  });
});

describe('a client that leaves', () => {
  test.each([
    ['ends its side', 'end'],
    ['resets the connection', 'resetAndDestroy'],
  ] as const)('gives its permit back, and what it pipelined is not served: it %s', async (_, leave) => {
    const { admission, served, open, next } = await start();
    const { client, closed } = await open();
    client.write(POST + LARGE);
    const { response } = await next();
    const over = once(response, 'close');
    client[leave]();
    if (leave === 'end') response.end();
    await over;
    if (leave === 'resetAndDestroy') {
      await closed;
      expect(served).toEqual([]);
      expect(admission.held).toBe(0);
    }
    while (admission.inFlight > served.length) await setImmediate();
  });

  test('while its request waits for a permit is not served', async () => {
    const { admission, served, open, next } = await start({ maxInFlight: 1 });
    const first = await open();
    first.client.write(GET);
    const { answer } = await next();
    const second = await open();
    second.client.write(GET);
    while (admission.waiting - admission.turns.waiting === 0) await setImmediate();
    second.client.resetAndDestroy();
    await second.closed;
    // It waits no more, though the first one still has the permit.
    expect(admission.waiting).toBe(0);
    answer();
    while (admission.inFlight > 0) await setImmediate();
    const third = await open();
    third.client.write(GET);
    await next();
    expect(served).toEqual([]);
    expect(admission.inFlight).toBe(1);
  });

  test('only after it was answered: it ended its side together with its requests', async () => {
    const { open, next } = await start();
    const { client, answers } = await open();
    client.end(GET + POST);
    for (let number = 0; number < 2; number++) {
      const { answer } = await next();
      await settle();
      answer();
    }
    expect(statusesIn(await answers)).toEqual([200, 200]);
  });

  test('is gone if there is no answer for it soon', async () => {
    const { admission, open, next } = await start();
    const { client, answers, closed } = await open();
    client.end(GET);
    const { response } = await next();
    await once(response, 'close');
    await closed;
    expect(await answers).toBe('');
    expect([admission.inFlight, admission.held]).toEqual([0, 0]);
  });

  // Headers that do not come to their end would close it after 20 s.
  test('with half a request gets an error, and the connection is closed', { timeout: 15_000 }, async () => {
    const { open, admission } = await start();
    for (const half of [GET.slice(0, 20), POST.slice(0, -2)]) {
      const { client, closed } = await open();
      client.end(half);
      await closed;
    }
    expect(admission.held).toBe(0);
  });
});

describe('an answer that lasts', () => {
  test('gives its permit back, and ends with its connection when another request comes', async () => {
    const { admission, open, next } = await start();
    const { client, closed } = await open();
    client.write(GET);
    const { request } = await next();
    expect(admission.inFlight).toBe(1);
    connectionOf(request.socket)!.beginStream();
    expect(admission.inFlight).toBe(0);
    client.write(GET);
    await closed;
  });

  test.skipIf(process.platform !== 'linux')('lets the system ask whether its client is there', async () => {
    const { open, next } = await start();
    const { client, socket } = await open();
    client.write(GET);
    const { request } = await next();
    connectionOf(request.socket)!.beginStream();
    const port = (number = 0) => `:${number.toString(16).toUpperCase().padStart(4, '0')} `;
    const ends = new RegExp(`${port(socket.localPort)}\\w+${port(socket.remotePort)}`);
    const line = readFileSync('/proc/net/tcp', 'utf8')
      .split('\n')
      .find((one) => ends.test(one))!;
    // The timer 02 is keep-alive's, and what is left of it in hundredths of a second.
    const [, left = ''] = / 02:(\w+) /.exec(line) ?? [];
    expect(Number.parseInt(left, 16)).toBeLessThanOrEqual(400);
  });

  test('ends with its connection if other requests wait behind it', async () => {
    const { open, next } = await start();
    const { client, socket, closed } = await open();
    client.write(POST + LARGE);
    const { request } = await next();
    while (socket.bytesRead < POST.length + LARGE.length) await setImmediate();
    connectionOf(request.socket)!.beginStream();
    await closed;
  });

  test('may be followed by other requests once it is over', async () => {
    const { open, next } = await start();
    const { client } = await open();
    client.write(GET);
    const { request, answer } = await next();
    connectionOf(request.socket)!.beginStream();
    answer();
    await once(client, 'readable').catch(() => {});
    await settle();
    client.write(GET);
    (await next()).answer();
  });
});

test('an answer that needs no token is sent without a permit, and counts as held memory until it is read', async () => {
  const { admission, open } = await start();
  const { client, socket, closed } = await open();
  // Never done, as when the client's window is full.
  socket._write = () => {};
  client.write(GET.replace('/', '/open'));
  while (admission.held < OPEN.length) await setImmediate();
  expect(admission.inFlight).toBe(0);
  client.resetAndDestroy();
  await closed;
  expect(admission.held).toBe(0);
});

test('what a client has not read of an answer with a permit counts as held memory until it is read', async () => {
  const { admission, open, next } = await start({ requestMemory: 3 * OPEN.length });
  const { client, socket, closed } = await open();
  // Done when the test says so, as when the client's window is full until then.
  let written: (() => void) | undefined;
  socket._write = (_bytes, _encoding, done) => {
    written = done;
  };
  client.write(GET);
  const { response, answer } = await next();
  answer(OPEN);
  while (admission.held < OPEN.length) await setImmediate();
  expect(admission.inFlight).toBe(1);
  while (!response.writableFinished) {
    written?.();
    await setImmediate();
  }
  expect([admission.held, admission.inFlight]).toEqual([0, 0]);
  client.write(GET);
  (await next()).answer(OPEN.repeat(4));
  await closed;
  expect([admission.held, admission.inFlight]).toEqual([0, 0]);
});

describe('an answered request whose body does not come', () => {
  test('ends after 5 seconds, with its connection', async () => {
    const { admission, open } = await start();
    const { client, socket, answers, closed } = await open();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    opened.defer(async () => void vi.useRealTimers());
    client.write(QUICK.replace('GET', 'POST').replace('\r\n\r\n', '\r\nContent-Length: 10\r\n\r\n'));
    while (admission.held === 0) await setImmediate();
    await settle();
    vi.advanceTimersByTime(4_999);
    await settle();
    expect(socket.destroyed).toBe(false);
    vi.advanceTimersByTime(1);
    await closed;
    expect(statusesIn(await answers)).toEqual([200]);
    expect(admission.held).toBe(0);
  });

  test('is discarded when it does come, and the next request is served', async () => {
    const { open, next } = await start();
    const { client } = await open();
    client.write(QUICK.replace('GET', 'POST').replace('\r\n\r\n', '\r\nContent-Length: 100000\r\n\r\n'));
    await settle();
    client.write('x'.repeat(100_000) + GET);
    (await next()).answer();
  });

  test('counts as held memory until it does come', async () => {
    const { admission, open, next } = await start();
    const { client } = await open();
    client.write(LARGE.replace('GET / ', 'POST /quick ').replace('\r\n\r\n', '\r\nContent-Length: 4\r\n\r\n'));
    await once(client, 'data');
    await settle();
    expect(admission.held).toBeGreaterThan(2 * LARGE.length);
    client.write('fe');
    await settle();
    expect(admission.held).toBeGreaterThan(2 * LARGE.length);
    client.write('rn');
    while (admission.held > 0) await setImmediate();
    client.write(GET);
    (await next()).answer();
    while (admission.held > 0) await setImmediate();
  });
});

test('an idle connection keeps nothing of the request that was answered on it', async () => {
  const { admission, open, next } = await start();
  const ask = async () => {
    const { client } = await open();
    client.write(LARGE);
    const { request, answer } = await next();
    answer();
    return new WeakRef(request);
  };
  const answered: WeakRef<IncomingMessage>[] = [];
  for (let number = 0; number < 20; number++) answered.push(await ask());
  while (admission.held > 0) await setImmediate();
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const left = () => {
    gc();
    return answered.filter((request) => request.deref() !== undefined).length;
  };
  await expect.poll(left).toBe(0);
});

describe('callers together', () => {
  test('hold no more than the bound in headers without an end: the largest go, and the others are served', async () => {
    const limit = 400_000;
    const { admission, shed, open, next } = await start({ requestMemory: limit });
    const modest = await open();
    modest.client.write(GET.slice(0, 10));
    const greedy = [];
    for (let number = 0; number < 30; number++) greedy.push(await open());
    let closed = 0;
    for (const { client, socket } of greedy) {
      socket.once('close', () => closed++);
      client.write(LARGE.slice(0, -2));
    }
    const sizes = [];
    while (closed === 0) {
      await setImmediate();
      sizes.push(admission.held);
    }
    await settle();
    sizes.push(admission.held);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(limit);
    expect(closed).toBeLessThan(greedy.length);
    expect(new Set(shed)).toEqual(new Set(['memory']));
    modest.client.write(GET.slice(10));
    (await next()).answer();
  });

  test('who waits too long for its turn gets 503 like any other answer, and a browser may read it', async () => {
    const { shed, app, open } = await start({ maxWait: 20 });
    // The turn comes only after this.
    app.server.on('connection', (socket) =>
      socket.on('data', () => {
        for (const began = performance.now(); performance.now() - began < 40; );
      }),
    );
    const { client, answers } = await open();
    client.write(
      GET.replace('/', '/open').replace('\r\n\r\n', '\r\nOrigin: https://a.example\r\nConnection: close\r\n\r\n'),
    );
    const answer = await answers;
    expect(answer).toMatch(/^HTTP\/1\.1 503 /);
    expect(answer).toMatch(/plantstore-reason: OVERLOADED\r\n/i);
    expect(answer).toMatch(/retry-after: 1\r\n/i);
    expect(answer).toMatch(/access-control-allow-origin: \*\r\n/i);
    expect(answer).toMatch(/x-request-id: /i);
    expect(shed).toEqual(['cpu']);
  });
});

test.each([
  ['REST', 413, '/plants', () => HttpApp.rest({})],
  ['Connect', 429, '/plantstore.v1.PlantStoreService/ListPlants', () => HttpApp.connect({})],
])('over %s a client that reads only once it has sent everything gets its refusal', async (_, status, path, start) => {
  await using app = await start();
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname).on('error', () => {});
  const body = Buffer.alloc(4 * 2 ** 20);
  const head = ['Host: a', 'Connection: close', 'Content-Type: application/json', `Content-Length: ${body.length}`];
  socket.write(`POST ${path} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`);
  // A connection that is closed meanwhile is an error of this write.
  await promisify((done: (error?: Error | null) => void) => socket.write(body, done))();
  expect(await text(socket)).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*64 KiB[^]*}$`));
});

test('a client that asks for a tunnel, and resets its connection, ends nothing but that', async () => {
  await using app = await HttpApp.rest({});
  const { hostname, port } = new URL(app.url);
  for (const after of [0, 1, 2, 5, 10, 20]) {
    const socket = connect(Number(port), hostname).on('error', () => {});
    socket.write('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n');
    await new Promise((resolve) => setTimeout(resolve, after));
    socket.resetAndDestroy();
  }
  const socket = connect(Number(port), hostname);
  socket.write('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n');
  expect(await text(socket)).toMatch(/^HTTP\/1.1 400 .*not a proxy/s);
});
