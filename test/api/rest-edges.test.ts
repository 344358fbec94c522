import { randomUUID } from 'node:crypto';
import { METHODS } from 'node:http';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answersIn } from '../support/answers.ts';
import { client, exchange, expectError, type Reply, type RequestParts, type Send } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import type { Answer, Document, Json, Reference } from './openapi.ts';
import {
  ALLOWED,
  IGNORED,
  INTEGERS,
  MAX,
  MIB,
  MIN,
  NO_REQUESTS,
  OF_NOBODY,
  ONLY_PLANT,
  PLANT,
  REFUSED,
  TAKEN,
} from './rest-edges.ts';

const CREATE = '/plantstore.v1.PlantStoreService/CreatePlant';

let service: LocalService;
let token: string;
let nobody: Send;
let document: Document;

beforeAll(async () => {
  service = await startLocalService();
  token = await service.token('alice');
  nobody = client(service.url);
  document = JSON.parse((await nobody('GET', '/openapi.json')).text);
});
afterAll(() => service.stop());

/** A client whose owner has no plants yet. */
const newOwner = async (): Promise<Send> => client(service.url, await service.token(randomUUID()));

const ajv = new Ajv2020({ formats: { int32: true, int64: true }, keywords: ['components'] });

const checks = new Map<Json, ValidateFunction>();

/** The check of a schema that may refer to the components. */
function check(schema: Json): ValidateFunction {
  const known = checks.get(schema) ?? ajv.compile({ ...schema, components: document.components });
  checks.set(schema, known);
  return known;
}

/** The name of the component that a reference means. */
const lastOf = ({ $ref }: Reference): string => $ref.split('/').at(-1)!;

/** Expects an answer to be one that the document promises, where it has the path and the method. */
function expectPromised(method: string, path: string, reply: Reply): void {
  const template = path.replace(/\?.*/s, '').replace(/^\/plants\/[^/]*$/, '/plants/{id}');
  const operation = document.paths[template]?.[method.toLowerCase()];
  if (operation === undefined) return;
  const answer = operation.responses[reply.status];
  const promised =
    answer !== undefined && '$ref' in answer ? document.components.responses[lastOf(answer)] : (answer as Answer);
  expect(promised, `${method} ${path} answered ${reply.status}: ${reply.text}`).toBeDefined();
  const content = promised!.content?.['application/json'];
  expect(content !== undefined, reply.text).toBe(reply.text !== '');
  if (content !== undefined) {
    const validate = check(content.schema);
    expect(validate(JSON.parse(reply.text)), `${reply.text}: ${ajv.errorsText(validate.errors)}`).toBe(true);
  }
  const reason = reply.headers['plantstore-reason'];
  if (reason !== undefined) expect((promised as unknown as Json).description).toContain(`\`${reason}\``);
  for (const name of ['link', 'plantstore-position', 'retry-after', 'www-authenticate', 'x-request-id', 'allow']) {
    const value = reply.headers[name];
    if (value === undefined) continue;
    const header = Object.entries(promised!.headers ?? {}).find(
      ([promisedName]) => promisedName.toLowerCase() === name,
    );
    expect(header, `${name} of ${method} ${path} ${reply.status}`).toBeDefined();
    const { schema } = document.components.headers[lastOf(header![1])]!;
    expect(check(schema)(schema.type === 'integer' ? Number(value) : value)).toBe(true);
  }
}

/** Sends a request, and expects of the answer what holds for every one. */
async function ask(send: Send, method: string, path: string, parts: RequestParts = {}): Promise<Reply> {
  const reply = await send(method, path, parts);
  expectPromised(method, path, reply);
  expect(reply.headers['x-content-type-options']).toBe('nosniff');
  if (reply.status >= 400) {
    expect(reply.headers['cache-control']).toBe('no-store');
    expect(reply.headers['x-request-id']).toBeDefined();
  }
  expect(reply.headers).not.toHaveProperty('server');
  expect(reply.headers).not.toHaveProperty('x-powered-by');
  return reply;
}

const titled = <Row extends { readonly what: string }>(rows: readonly Row[]) =>
  rows.map((row) => [row.what, row] as const);

describe('refused, and nothing is changed', () => {
  test.each(titled(REFUSED))('%s', async (_, { method, path, parts, status, code, says, isTakenByConnect }) => {
    const send = await newOwner();
    await send('POST', '/plants', { body: '{"id":70,"name":"Kept"}' });
    expect(expectError(await ask(send, method, path, parts), status, code)).toMatch(says);
    if (isTakenByConnect !== undefined) {
      const plant = Buffer.concat([Buffer.from('{"plant":'), Buffer.from(parts.body ?? ''), Buffer.from('}')]);
      const reply = await send('POST', CREATE, { body: plant });
      expect(reply.status, reply.text).toBe(isTakenByConnect ? 200 : 400);
      if (!isTakenByConnect) expect(JSON.parse(reply.text).code).toBe('invalid_argument');
      if (isTakenByConnect) await send('DELETE', '/plants/7');
    }
    expect((await send('GET', '/plants')).text).toBe('[{"name":"Kept"}]');
  });

  test.each(titled(OF_NOBODY))('without a token, %s', async (_, { method, path, parts, status, code }) => {
    const reply = await ask(nobody, method, path, parts);
    expectError(reply, status, code);
    if (status !== 401) return;
    expect(reply.headers['www-authenticate']).toMatch(/^Bearer( |$)/);
    const bad = await ask(client(service.url, 'a.b.c'), method, path, parts);
    expectError(bad, 401, 16);
    expect(bad.headers['www-authenticate']).toMatch(/^Bearer .*error="invalid_token"/);
  });

  test.each(Object.entries(ALLOWED))(
    'every other method of %s, which says those that it takes',
    async (path, allowed) => {
      for (const method of METHODS.filter((name) => !allowed.includes(name) && name !== 'CONNECT')) {
        const parts =
          method === 'POST' || method === 'PUT' ? { body: 'no json', headers: { 'content-type': 'x' } } : {};
        const reply = await ask(nobody, method, path, parts);
        expect((reply.headers.allow ?? '').split(', ').sort(), method).toEqual(allowed);
        if (method === 'HEAD') expect(reply.status).toBe(405);
        else expectError(reply, 405, 12);
      }
    },
  );

  test.each(titled(NO_REQUESTS))(
    'on a connection that then ends: %s',
    async (_, { bytesOf, status, code, said = '' }) => {
      const sender = await service.token(randomUUID());
      const send = client(service.url, sender);
      await send('POST', '/plants', { body: '{"id":1,"name":"Ivy"}' });
      const answers = answersIn(Buffer.from(await exchange(service.url, bytesOf(sender))));
      expect(answers).toHaveLength(1);
      expect(expectError(answers[0]!, status, code)).toContain(said);
      expect((await send('GET', '/plants')).text).toBe('[{"name":"Ivy"}]');
      expect((await send('GET', ONLY_PLANT)).status).toBe(200);
    },
  );

  test('a coded body, and say which coding they take', async () => {
    const parts = { body: '{}', headers: { 'content-encoding': 'gzip' } };
    const reply = await client(service.url, token)('POST', '/plants', parts);
    expect([reply.status, reply.headers['accept-encoding']]).toEqual([415, 'identity']);
  });

  test.each(['/plants', CREATE])('a request to %s that has no body, and no header that tells of one', async (path) => {
    const headers = `Host: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
    for (const more of ['', 'Expect: 100-continue\r\n'])
      expect(await exchange(service.url, `POST ${path} HTTP/1.1\r\n${headers}${more}\r\n`)).toMatch(/^HTTP\/1.1 400 /);
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

  test('for the lack of a scope, which the answer names', async () => {
    await using strict = await startLocalService({ JWT_REQUIRED_SCOPES: 'plants:read plants:write' });
    const reader = client(strict.url, await strict.token('alice', 'plants:read'));
    expect((await reader('GET', '/plants')).status).toBe(200);
    for (const [method, path, parts] of [
      ['POST', '/plants', { body: PLANT }],
      ['DELETE', '/plants/7', {}],
    ] as const) {
      const reply = await ask(reader, method, path, parts);
      expectError(reply, 403, 7);
      expect(reply.headers['www-authenticate']).toMatch(/error="insufficient_scope".*scope="plants:write"/);
    }
    const other = client(strict.url, await strict.token('alice', 'other'));
    for (const path of ['/plants', '/plants/7']) expectError(await ask(other, 'GET', path), 403, 7);
  });

  test('while a large body is still being sent', async () => {
    const alice = client(service.url, token);
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
});

describe('taken', () => {
  test.each(TAKEN.map(([body, ...rest]) => [JSON.stringify(body).slice(0, 60), body, ...rest] as const))(
    'a plant: %s',
    async (_, body, plant, parts = {}) => {
      const send = await newOwner();
      const added = await ask(send, 'POST', '/plants', { body, ...parts });
      expect({ ...added, headers: undefined }).toEqual({ status: 200, text: plant });
      expect(added.headers['content-type']).toMatch(/^application\/json/);
      expect(added.headers['plantstore-position']).toMatch(/^[1-9]\d*$/);
      expect((await ask(send, 'GET', '/plants')).text).toBe(`[${plant}]`);
      expect((await ask(send, 'DELETE', '/plants/7')).status).toBe(204);
    },
  );

  test.each(INTEGERS)('"id":%s is that int64, exactly', async (number, id) => {
    const send = await newOwner();
    const near = [BigInt(id) - 1n, BigInt(id) + 1n].filter((other) => other >= BigInt(MIN) && other <= BigInt(MAX));
    for (const other of near)
      expect((await send('POST', '/plants', { body: `{"id":${other},"name":"near"}` })).status).toBe(200);
    expect((await send('POST', '/plants', { body: `{"id":${number},"name":"here"}` })).status).toBe(200);
    const again = await send('POST', '/plants', { body: `{"id":${id},"name":"again"}` });
    expect(expectError(again, 400, 6)).toContain(id);
    expect((await send('DELETE', `/plants/${id}`)).status).toBe(204);
    const left = JSON.parse((await send('GET', '/plants')).text);
    expect(left).toEqual(near.map(() => ({ name: 'near' })));
  });

  test('a DELETE, once, and the id is free again', async () => {
    const send = await newOwner();
    const positions: number[] = [];
    for (const name of ['first', 'second']) {
      const added = await ask(send, 'POST', '/plants', { body: JSON.stringify({ id: 7, name }) });
      expect(added.text).toBe(JSON.stringify({ name }));
      const deleted = await ask(send, 'DELETE', '/plants/7');
      expect({ ...deleted, headers: undefined }).toEqual({ status: 204, text: '' });
      expect(deleted.headers).not.toHaveProperty('content-type');
      expect(deleted.headers).not.toHaveProperty('content-length');
      expectError(await ask(send, 'DELETE', '/plants/7'), 404, 5);
      positions.push(...[added, deleted].map(({ headers }) => Number(headers['plantstore-position'])));
    }
    expect(positions).toEqual(positions.toSorted((a, b) => a - b));
    expect(new Set(positions).size).toBe(4);
    expect((await send('GET', '/plants')).text).toBe('[]');
  });

  test('a DELETE whose path is percent-encoded, whatever its body and type', async () => {
    const send = await newOwner();
    for (const parts of IGNORED) {
      await send('POST', '/plants', { body: '{"id":-7,"name":"Fern"}' });
      expect((await ask(send, 'DELETE', '/plants/%2d%37', parts)).status).toBe(204);
    }
  });

  test.each(['/openapi.json', '/docs', '/docs/', '/log/key', '/console', '/plants?limit=1', '/plants/7'])(
    'GET %s, which is what its type says',
    async (path) => {
      const send = await newOwner();
      await send('POST', '/plants', { body: '{"id":7,"name":"<script>alert(1)</script>"}' });
      expect((await ask(send, 'GET', path)).headers['x-content-type-options']).toBe('nosniff');
    },
  );

  test('the absolute form of a path, an upgrade and an expectation that nobody knows', async () => {
    const head = 'Host: x\r\nConnection: close\r\n';
    for (const request of [
      `GET http://x/openapi.json HTTP/1.1\r\n${head}\r\n`,
      'GET /openapi.json HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n',
      `GET /openapi.json HTTP/1.1\r\n${head}Expect: a miracle\r\n\r\n`,
      'GET /openapi.json HTTP/1.0\r\n\r\n',
    ])
      expect(await exchange(service.url, request)).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  });

  test('a method that is known to the parser alone', async () => {
    const request = 'PLAY /plants RTSP/1.0\r\nConnection: close\r\n\r\n';
    expect(await exchange(service.url, request)).toMatch(/^HTTP\/1.1 405 Method Not Allowed\r\n.*\r\nallow: /s);
    expect(service.logs.filter(({ level }) => level !== 'info')).toEqual([]);
  });

  test.each([
    ['of known length', 'Content-Length: 2\r\n\r\n{}'],
    ['in chunks, and empty', 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ])('a request for an event stream with a body %s is refused, and the connection serves on', async (_, rest) => {
    const head = `Host: x\r\nAuthorization: Bearer ${token}\r\n`;
    const request = `GET /plants HTTP/1.1\r\n${head}Accept: text/event-stream\r\n${rest}`;
    const next = `GET /plants HTTP/1.1\r\n${head}Connection: close\r\n\r\n`;
    const answers = answersIn(Buffer.from(await exchange(service.url, request + next)));
    expect(answers.map(({ status }) => status)).toEqual([400, 200]);
  });

  test.each(['0.9', '2.0'])('HTTP/%s is refused: its clients understand no such answer', async (version) => {
    const request = `GET /openapi.json HTTP/${version}\r\nHost: x\r\nConnection: close\r\n\r\n`;
    expect(await exchange(service.url, request)).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/);
  });
});

test('a failure names the request id, which is yours if it is short and plain', async () => {
  const yours = await nobody('GET', '/plants', { headers: { 'x-request-id': 'abc-123' } });
  expect(yours.headers['x-request-id']).toBe('abc-123');
  for (const id of ['a b', '"', 'x'.repeat(65), undefined]) {
    const reply = await nobody('GET', '/plants', id === undefined ? {} : { headers: { 'x-request-id': id } });
    expect(reply.headers['x-request-id']).toMatch(/^[\da-f-]{36}$/);
  }
});
