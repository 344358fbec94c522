import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { createLogger } from '../../src/observe/logger.ts';
import type { EndedRequest } from '../../src/observe/request.ts';
import { Admission } from '../../src/transport/admission/admission.ts';
import { readBody } from '../../src/transport/http/body.ts';
import { createHttpServer } from '../../src/transport/http/server.ts';
import { statusesIn } from '../support/http.ts';

const HEAD = 'Host: x\r\nConnection: keep-alive\r\n';
const GET = `GET /done HTTP/1.1\r\n${HEAD}\r\n`;
const POST = `POST /done HTTP/1.1\r\n${HEAD}Content-Length: 4\r\n\r\n{\r\n}`;
const HELD = GET.replace('done', 'held');

/** What is too large, and the rest of that request. */
const OVERFLOWS = {
  'an id': `DELETE /plants/${'1'.repeat(70_000)} HTTP/1.1\r\n${HEAD}\r\n`,
  'an id without an end': `DELETE /plants/${'1'.repeat(70_000)}`,
  'a query with line ends, as text': `GET /plants?a=${'%0d%0a'.repeat(12_000)} HTTP/1.1\r\n${HEAD}\r\n`,
  'a header': `GET /plants HTTP/1.1\r\n${HEAD}Authorization: Bearer ${'A'.repeat(65_536)}\r\n\r\n`,
  'the name of a header': `GET /plants HTTP/1.1\r\n${HEAD}${'x'.repeat(65_536)}: y\r\n\r\n`,
  'a header that looks like a request line': `GET /plants HTTP/1.1\r\n${HEAD}X: GET /${'1'.repeat(65_536)} HTTP/1.1\r\n\r\n`,
  'all headers together': `GET /plants HTTP/1.1\r\n${HEAD}${'X: x\r\n'.repeat(20_000)}\r\n`,
};

/** Where bytes are cut into packets, as offsets in the request that is too large. */
const CUTS = {
  nowhere: [],
  'in the method': [2],
  'in the URL': [13],
  'before the first header': [22],
  'in the first header': [30],
  'one byte before the limit': [16_383],
  'everywhere near the limit': Array.from({ length: 40 }, (_, index) => 16_376 + index * 5),
  'every 1,000 bytes': Array.from({ length: 60 }, (_, index) => index * 1_000),
  'every 9,999 bytes': Array.from({ length: 6 }, (_, index) => index * 9_999),
};

/** What is sent before it, on the same connection, and the statuses of the answers to that. */
const BEFORE = {
  'on a new connection': ['', []],
  'behind a request': [GET, [200]],
  'behind a request with a body': [POST, [200]],
  'behind three requests, one of which takes a while': [GET + HELD + GET, [200, 200, 200]],
} as const;

let app: FastifyInstance;
/** Resolves when the requests to /held are to be answered. */
let released = Promise.withResolvers<void>();

beforeAll(async () => {
  const quiet = new Writable({ write: (_line, _encoding, done) => done() });
  const { limits } = loadConfig({});
  const admission = new Admission({ ...limits, maxWait: 60_000 }, () => {});
  app = createHttpServer(createLogger('fatal', quiet), limits, { admission });
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.all('/done', async () => 'done');
  app.get('/held', async () => {
    await released.promise;
    return 'held';
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
});

afterAll(() => app.close());

/**
 * Sends packets that the server reads one by one, then lets it answer /held, and returns what it answers until it
 * closes the connection.
 */
async function send(packets: readonly string[]): Promise<string> {
  const accepted = once(app.server, 'connection');
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1').setNoDelay(true);
  const answers = buffer(client).then(String);
  const [server] = (await accepted) as [Socket];
  released = Promise.withResolvers();
  let sent = 0;
  for (const packet of packets) {
    if (!client.writable) break;
    client.write(packet);
    sent += packet.length;
    // It reads no more while much waits behind a request.
    while (server.bytesRead < sent && client.writable && !server.isPaused()) await setImmediate();
  }
  released.resolve();
  return answers;
}

const cut = (text: string, offsets: readonly number[]) =>
  [0, ...offsets].map((offset, index) => text.slice(offset, offsets[index])).filter((packet) => packet !== '');

describe.each(Object.entries(OVERFLOWS))('too large: %s', (_what, request) => {
  describe.each(Object.entries(BEFORE))('%s', (_where, [before, statuses]) => {
    test.each(Object.entries(CUTS))('cut %s, it has the same answer, in its turn', async (_cut, offsets) => {
      const [first, ...others] = cut(request, offsets);
      const answers = await send([before + first, ...others]);
      expect(statusesIn(answers)).toEqual([...statuses, 400]);
      const last = answers.slice(answers.lastIndexOf('HTTP/1.1'));
      expect(last).toContain('plantstore-reason: MALFORMED_REQUEST\r\n');
      expect(last).toMatch(
        /"message":"the URL and the headers may have at most 16 KiB together, and fewer than 128 lines"\}$/,
      );
    });
  });
});

test.each([
  ['no HTTP', 'hello\r\n\r\n'],
  ['CONNECT', `CONNECT example.com:443 HTTP/1.1\r\n${HEAD}\r\n`],
])(
  'behind requests without an answer, %s is refused in its turn, and nothing behind it is served',
  async (_, bytes) => {
    expect(statusesIn(await send([HELD + bytes + GET, GET]))).toEqual([200, 400]);
  },
);

test('what the parser ends is told of once, by what its client got; a connection on which nothing came is not', async () => {
  const ended: EndedRequest[] = [];
  const limits = { ...loadConfig({}).limits, requestTimeout: 0.1 };
  const { promise: allEnded, resolve: endAll } = Promise.withResolvers<void>();
  const observer = { ended: (request: EndedRequest) => void (ended.push(request) === 4 && endAll()) };
  const admission = new Admission(limits, () => {});
  const strict = createHttpServer(pino({ level: 'silent' }), limits, { admission, observer });
  strict.addContentTypeParser('*', ({ raw }, _payload, done) => readBody(raw, undefined, done));
  strict.post('/plants', async () => 'done');
  await strict.listen({ host: '127.0.0.1', port: 0 });
  const { port } = strict.server.address() as AddressInfo;
  const statusOf = async (bytes: string) => {
    const client = connect(port, '127.0.0.1');
    client.write(bytes);
    return statusesIn(await text(client));
  };
  const post = `POST /plants HTTP/1.1\r\n${HEAD}`;
  const sent = ['', post, `${post}Content-Length: 9\r\n\r\n{`, 'hello\r\n\r\n', `CONNECT a:1 HTTP/1.1\r\n${HEAD}\r\n`];
  expect(await Promise.all(sent.map(statusOf))).toEqual([[408], [408], [408], [400], [400]]);
  await allEnded;
  await strict.close();
  const told = ended.map(({ method, route, status, failure }) => `${method} ${route} ${status} ${failure?.reason}`);
  expect(told.sort()).toEqual([
    'POST /plants 408 REQUEST_TIMEOUT',
    '_OTHER unmatched 400 MALFORMED_REQUEST',
    '_OTHER unmatched 400 MALFORMED_REQUEST',
    '_OTHER unmatched 408 REQUEST_TIMEOUT',
  ]);
});

test('a request that was answered before it was whole gets no second answer', async () => {
  const limits = { ...loadConfig({}).limits, requestTimeout: 0.1 };
  const strict = createHttpServer(pino({ level: 'silent' }), limits, { admission: new Admission(limits, () => {}) });
  strict.addContentTypeParser('*', ({ raw }, _payload, done) => readBody(raw, undefined, done));
  strict.post('/plants', { onRequest: async (_request, reply) => reply.code(401).send('no') }, async () => 'done');
  await strict.listen({ host: '127.0.0.1', port: 0 });
  const client = connect((strict.server.address() as AddressInfo).port, '127.0.0.1');
  client.write(`POST /plants HTTP/1.1\r\n${HEAD}Content-Length: 9\r\n\r\n{`);
  expect(statusesIn(await text(client))).toEqual([401]);
  await strict.close();
});

test('what the parser refuses is answered with the id under which the service tells of it', async () => {
  const ids: string[] = [];
  const { limits } = loadConfig({});
  const observer = { ended: ({ requestId }: EndedRequest) => void ids.push(requestId) };
  const server = createHttpServer(pino({ level: 'silent' }), limits, {
    admission: new Admission(limits, () => {}),
    observer,
  });
  await server.listen({ host: '127.0.0.1', port: 0 });
  const client = connect((server.server.address() as AddressInfo).port, '127.0.0.1');
  client.write('hello\r\n\r\n');
  expect(await text(client)).toContain(`\r\nX-Request-Id: ${ids[0]}\r\n`);
  await server.close();
});
