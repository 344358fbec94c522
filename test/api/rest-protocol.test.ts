import { randomUUID } from 'node:crypto';
import { METHODS } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { client, exchange, expectError, type Reply, type Send } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';

let service: LocalService;
let token: string;
let alice: Send;
let nobody: Send;

beforeAll(async () => {
  service = await startLocalService();
  token = await service.token('alice');
  alice = client(service.url, token);
  nobody = client(service.url);
});

afterAll(() => service.stop());

const PLANT = '{"id":7,"name":"Fern"}';
const MIB = 1024 * 1024;
const MAX_MESSAGE = 64 * 1024;

describe('405', () => {
  const ALLOWED = {
    '/plants': ['GET', 'HEAD', 'POST'],
    '/plants/7': ['DELETE', 'GET', 'HEAD'],
    '/plants/x': ['DELETE', 'GET', 'HEAD'],
    '/openapi.json': ['GET', 'HEAD'],
    '/docs': ['GET', 'HEAD'],
    '/docs/': ['GET', 'HEAD'],
  };

  test.each(Object.entries(ALLOWED))(
    '%s refuses every other method, and says which it takes',
    async (path, allowed) => {
      for (const method of METHODS.filter((name) => !allowed.includes(name) && name !== 'CONNECT')) {
        const parts =
          method === 'POST' || method === 'PUT' ? { body: 'no json', headers: { 'content-type': 'x' } } : {};
        const reply = await nobody(method, path, parts);
        expect((reply.headers.allow ?? '').split(', ').sort(), method).toEqual(allowed);
        if (method === 'HEAD') expect(reply.status).toBe(405);
        else expectError(reply, 405, 12);
      }
    },
  );
});

describe('404', () => {
  test.each(['/', '/plant', '/plants/7/', '/plants/7/8', '/PLANTS', '//plants', '/plants;x=1', '/openapi.yaml'])(
    '%s, whatever the method and the body, and without a token',
    async (path) => {
      for (const method of ['GET', 'POST', 'DELETE', 'PROPFIND'])
        expectError(await nobody(method, path, { headers: { 'content-type': 'x' }, body: '{' }), 404, 5);
    },
  );

  test('a page that the documentation does not have', async () => {
    for (const path of ['/docs/nothing', '/console/assets/nothing.js', '/console/assets/../../package.json'])
      expectError(await nobody('GET', path), 404, 5);
  });
});

describe('401', () => {
  test.each([
    ['GET', '/plants'],
    ['POST', '/plants'],
    ['DELETE', '/plants/7'],
    ['DELETE', '/plants/x'],
  ])('%s %s needs a token', async (method, path) => {
    const reply = await nobody(method, path);
    expectError(reply, 401, 16);
    expect(reply.headers['www-authenticate']).toMatch(/^Bearer( |$)/);
    const bad = await client(service.url, 'a.b.c')(method, path);
    expectError(bad, 401, 16);
    expect(bad.headers['www-authenticate']).toMatch(/^Bearer .*error="invalid_token"/);
  });

  test('comes before a look at the body', async () => {
    for (const parts of [
      { body: 'x'.repeat(2 * MIB) },
      { body: 'x'.repeat(2 * MIB), chunked: true },
      { body: PLANT, headers: { 'content-type': 'text/plain' } },
      { body: '{' },
    ])
      expectError(await nobody('POST', '/plants', parts), 401, 16);
  });

  test('two Authorization headers are never one caller', async () => {
    const head = 'GET /plants HTTP/1.1\r\nHost: x\r\nConnection: close\r\n';
    const one = `Authorization: Bearer ${token}\r\n`;
    expect(await exchange(service.url, `${head}${one}\r\n`)).toMatch(/^HTTP\/1.1 200 /);
    for (const two of [one + one, `${one}authorization: Bearer x\r\n`, `Authorization: x\r\n${one}`]) {
      const answer = await exchange(service.url, `${head}${two}\r\n`);
      expect(answer).toMatch(/^HTTP\/1.1 40[01] /);
      expect(answer).toContain('"error":16');
    }
  });
});

test('403 names the scope that is needed', async () => {
  await using strict = await startLocalService({ JWT_REQUIRED_SCOPES: 'plants:read plants:write' });
  const reader = client(strict.url, await strict.token('alice', 'plants:read'));
  expect((await reader('GET', '/plants')).status).toBe(200);
  for (const refused of [await reader('POST', '/plants', { body: PLANT }), await reader('DELETE', '/plants/7')]) {
    expectError(refused, 403, 7);
    expect(refused.headers['www-authenticate']).toMatch(/error="insufficient_scope".*scope="plants:write"/);
  }
});

describe('413', () => {
  test.each([
    ['with Content-Length', false],
    ['chunked', true],
  ])('a body over 64 KiB, %s', async (_how, chunked) => {
    const owner = client(service.url, await service.token(randomUUID()));
    const body = `${PLANT.slice(0, -1)},"x":"${'x'.repeat(MAX_MESSAGE)}`;
    const most = `${body.slice(0, MAX_MESSAGE - 2)}"}`;
    expect((await owner('POST', '/plants', { body: most, chunked })).status).toBe(200);
    for (const bytes of [MAX_MESSAGE + 1, 3 * MIB])
      expectError(await owner('POST', '/plants', { body: 'x'.repeat(bytes), chunked }), 413, 8);
  });
});

describe('415', () => {
  test.each([
    [{ 'content-type': null }],
    [{ 'content-type': '' }],
    [{ 'content-type': 'text/plain' }],
    [{ 'content-type': 'text/json' }],
    [{ 'content-type': 'application/jsonp' }],
    [{ 'content-type': 'application/vnd.x+json' }],
    [{ 'content-type': 'application/x-www-form-urlencoded' }],
    [{ 'content-type': 'application' }],
    [{ 'content-type': 'application/json, text/plain' }],
    [{ 'content-encoding': 'gzip' }],
    [{ 'content-encoding': 'br' }],
    [{ 'content-encoding': 'identity, gzip' }],
  ])('%j', async (headers) => {
    expectError(await alice('POST', '/plants', { body: PLANT, headers: headers as Record<string, string> }), 415, 3);
  });

  test.each([
    [{ 'content-type': 'application/json;charset=utf-8' }],
    [{ 'content-type': 'Application/JSON ; charset="UTF-8"' }],
    [{ 'content-encoding': 'identity' }],
  ])('not for %j', async (headers) => {
    const owner = client(service.url, await service.token(randomUUID()));
    expect((await owner('POST', '/plants', { body: PLANT, headers: headers as Record<string, string> })).status).toBe(
      200,
    );
  });
});

describe('what is no HTTP request of ours', () => {
  const HEAD = 'Host: x\r\nConnection: close\r\n';
  /** An answer as it came over the wire. */
  function parse(answer: string): Reply {
    const [head, text] = answer.split('\r\n\r\n') as [string, string];
    const [status, ...lines] = head.split('\r\n') as [string, ...string[]];
    const headers = Object.fromEntries(lines.map((line) => [line.split(': ')[0]!.toLowerCase(), line.split(': ')[1]]));
    return { status: Number(status.split(' ')[1]), headers, text };
  }

  test.each([
    ['no HTTP', 'hello\r\n\r\n', 400, 3],
    ['an unknown method', `FLY /plants HTTP/1.1\r\n${HEAD}\r\n`, 400, 3],
    ['no Host', 'GET /plants HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 3],
    ['a NUL in the path', `GET /pl\0nts HTTP/1.1\r\n${HEAD}\r\n`, 400, 3],
    ['CONNECT', `CONNECT example.com:443 HTTP/1.1\r\n${HEAD}\r\n`, 400, 3],
    ['a request line without end', `DELETE /plants/${'1'.repeat(200_000)}`, 400, 3],
    ['a header without end', `GET /plants HTTP/1.1\r\n${HEAD}X: ${'x'.repeat(200_000)}`, 400, 3],
    ['thousands of headers', `GET /plants HTTP/1.1\r\n${HEAD}${'X: x\r\n'.repeat(20_000)}\r\n`, 400, 3],
    ['two lengths', `POST /plants HTTP/1.1\r\n${HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, 400, 3],
    [
      'a length and chunks',
      `POST /plants HTTP/1.1\r\n${HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n`,
      400,
      3,
    ],
    ['OPTIONS *', `OPTIONS * HTTP/1.1\r\n${HEAD}\r\n`, 404, 5],
  ])('%s', async (_what, request, status, code) => {
    expectError(parse(await exchange(service.url, request)), status, code);
  });

  test('chunks that are none', async () => {
    const head = `POST /plants HTTP/1.1\r\n${HEAD}Authorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
    expectError(parse(await exchange(service.url, `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`)), 400, 3);
  });

  test('the absolute form of a path, an upgrade and an expectation that nobody knows are requests like others', async () => {
    for (const request of [
      `GET http://x/openapi.json HTTP/1.1\r\n${HEAD}\r\n`,
      'GET /openapi.json HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n',
      `GET /openapi.json HTTP/1.1\r\n${HEAD}Expect: a miracle\r\n\r\n`,
      'GET /openapi.json HTTP/1.0\r\n\r\n',
    ])
      expect(await exchange(service.url, request)).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  });
});

test('an answer reaches a client that still sends a large body', async () => {
  const body = Buffer.alloc(16 * MIB, 'x');
  for (let round = 0; round < 3; round++)
    for (const chunked of [false, true]) {
      expectError(await nobody('POST', '/plants', { body, chunked }), 401, 16);
      expectError(await nobody('POST', '/nothing', { body, chunked }), 404, 5);
      expectError(await nobody('PUT', '/plants', { body, chunked }), 405, 12);
      expectError(await alice('POST', '/plants', { body, chunked }), 413, 8);
      expectError(await alice('POST', '/plants', { body, chunked, headers: { 'content-type': 'x/y' } }), 415, 3);
    }
});

test('a failure names the request id, which is yours if it is short and plain', async () => {
  const yours = await nobody('GET', '/plants', { headers: { 'x-request-id': 'abc-123' } });
  expect(yours.headers['x-request-id']).toBe('abc-123');
  for (const id of ['a b', '"', 'x'.repeat(65), undefined]) {
    const reply = await nobody('GET', '/plants', id === undefined ? {} : { headers: { 'x-request-id': id } });
    expect(reply.headers['x-request-id']).toMatch(/^[\da-f-]{36}$/);
  }
});
