import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { client, exchange, type Reply, type RequestParts, type Send } from '../support/http.ts';
import { type Service, startService } from '../support/service.ts';

const MEGABYTE = 1024 * 1024;
const BOMB = gzipSync(Buffer.alloc(100 * MEGABYTE, ' '));
const OPERATOR = '{"$gt":""}';
const CREATE = '/plantstore.v1.PlantStoreService/CreatePlant';
const LIST = '/plantstore.v1.PlantStoreService/ListPlants';

const mongodbUri = inject('mongodbUri');
let service: Service;
let send: Send;
beforeAll(async () => {
  // On MongoDB, where there is one, since operators are its.
  const store = mongodbUri === undefined ? {} : { MONGODB_URI: mongodbUri.replace('/?', `/hostile-${randomUUID()}?`) };
  service = await startService(store);
  send = client(service.url, await service.token('alice'));
  await send('POST', '/plants', { body: '{"id":1,"name":"Fern"}' });
});
afterAll(async () => {
  expect(await service.stop()).toBe(0);
});

// Whatever was sent: nothing was added, deleted or shown but what it said, and the service lives.
afterEach(async () => {
  expect((await send('GET', '/plants')).text).toBe('[{"name":"Fern"}]');
  const bob = client(service.url, await service.token('bob'));
  expect((await bob('GET', '/plants')).text).toBe('[]');
});

const got = ({ status, text }: Reply) => ({ status, error: JSON.parse(text).error });

describe('on REST', () => {
  test.each<[string, string, string, RequestParts, { status: number; error: number | undefined }]>([
    ['a gzip bomb', 'POST', '/plants', { body: BOMB, headers: { 'content-encoding': 'gzip' } }, bad(415)],
    ['a body of 100,000 arrays in one another', 'POST', '/plants', { body: '['.repeat(100_000) }, bad(400)],
    ['an operator as id', 'POST', '/plants', { body: `{"id":${OPERATOR},"name":"Oak"}` }, bad(400)],
    ['an operator as name', 'POST', '/plants', { body: `{"id":2,"name":${OPERATOR}}` }, bad(400)],
    ['an operator as tag', 'POST', '/plants', { body: `{"id":2,"name":"Oak","tag":${OPERATOR}}` }, bad(400)],
    ['an operator as the plant', 'POST', '/plants', { body: OPERATOR }, bad(400)],
    ['fields of the prototype', 'POST', '/plants', { body: '{"__proto__":{"id":2,"name":"Oak"}}' }, bad(400)],
    ['an operator in the path', 'DELETE', `/plants/${encodeURIComponent(OPERATOR)}`, {}, bad(400)],
    ['an operator as limit', 'GET', `/plants?limit=${encodeURIComponent(OPERATOR)}`, {}, bad(400)],
    ['an operator as cursor', 'GET', `/plants?cursor=${encodeURIComponent(OPERATOR)}`, {}, bad(400)],
    ['a path out of the id', 'DELETE', '/plants/..%2f..%2fetc%2fpasswd', {}, bad(400)],
    ['a path out of the API', 'GET', '/plants/../../etc/passwd', {}, { status: 404, error: 5 }],
    [
      'a path out of the documentation',
      'GET',
      '/docs/static/..%2f..%2f..%2fpackage.json',
      {},
      { status: 404, error: 5 },
    ],
    ['a NUL in the path', 'DELETE', '/plants/1%00', {}, bad(400)],
    ['one header of a megabyte', 'GET', '/plants', { headers: { fern: 'x'.repeat(MEGABYTE) } }, bad(431)],
  ])('%s', async (_, method, path, parts, answer) => {
    expect(got(await send(method, path, parts))).toEqual(answer);
  });

  test('50,000 headers', async () => {
    const headers = Array.from({ length: 50_000 }, (_, index) => `x-${index}: 1\r\n`).join('');
    expect(await exchange(service.url, `GET /plants HTTP/1.1\r\nHost: plants\r\n${headers}\r\n`)).toMatch(
      /^HTTP\/1\.1 431 .*"error":8,/s,
    );
  });

  test('an operator for a parameter of an array or an object is a parameter that nobody knows', async () => {
    for (const query of ['limit[$gt]=', 'cursor[$ne]=', 'owner[$ne]=alice', '$where=1', '__proto__[limit]=0'])
      expect(await send('GET', `/plants?${query}`)).toMatchObject({ status: 200, text: '[{"name":"Fern"}]' });
  });
});

describe('on Connect', () => {
  test.each([
    ['a gzip bomb', CREATE, { body: BOMB, headers: { 'content-encoding': 'gzip' } }, 501, 'unimplemented'],
    ['an operator as id', CREATE, { body: `{"plant":{"id":${OPERATOR},"name":"Oak"}}` }, 400, 'invalid_argument'],
    ['an operator as name', CREATE, { body: `{"plant":{"id":2,"name":${OPERATOR}}}` }, 400, 'invalid_argument'],
    [
      'an operator as tag',
      CREATE,
      { body: `{"plant":{"id":2,"name":"Oak","tag":${OPERATOR}}}` },
      400,
      'invalid_argument',
    ],
    ['an operator as cursor', LIST, { body: `{"cursor":${JSON.stringify(OPERATOR)}}` }, 400, 'invalid_argument'],
    [
      'fields of the prototype',
      CREATE,
      { body: '{"__proto__":{"plant":{"id":2,"name":"Oak"}}}' },
      400,
      'invalid_argument',
    ],
    ['100,000 objects in one another', CREATE, { body: '{"plant":'.repeat(100_000) }, 400, 'invalid_argument'],
  ])('%s', async (_, path, parts, status, code) => {
    const reply = await send('POST', path, parts);
    expect({ status: reply.status, code: JSON.parse(reply.text).code }).toEqual({ status, code });
  });
});

function bad(status: number): { status: number; error: number } {
  return { status, error: status === 431 ? 8 : 3 };
}
