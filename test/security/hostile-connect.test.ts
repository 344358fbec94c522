import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { client, type Send } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';

const BOMB = gzipSync(Buffer.alloc(100 * 1024 * 1024, ' '));
const OPERATOR = '{"$gt":""}';
const CREATE = '/plantstore.v1.PlantStoreService/CreatePlant';
const LIST = '/plantstore.v1.PlantStoreService/ListPlants';

const mongodbUri = inject('mongodbUri');
let service: LocalService;
let send: Send;
beforeAll(async () => {
  // On MongoDB, where there is one, since operators are its.
  const store = mongodbUri === undefined ? {} : { MONGODB_URI: mongodbUri.replace('/?', `/hostile-${randomUUID()}?`) };
  service = await startLocalService(store);
  send = client(service.url, await service.token('alice'));
  await send('POST', '/plants', { body: '{"id":1,"name":"Fern"}' });
});
afterAll(() => service.stop());

// Whatever was sent: nothing was added, deleted or shown but what it said, and the service lives.
afterEach(async () => {
  expect((await send('GET', '/plants')).text).toBe('[{"name":"Fern"}]');
  const bob = client(service.url, await service.token('bob'));
  expect((await bob('GET', '/plants')).text).toBe('[]');
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
    [
      'bytes that are no message, long enough for its fields to be counted',
      CREATE,
      { body: Buffer.alloc(3_000, 0xff), headers: { 'content-type': 'application/proto' } },
      400,
      'invalid_argument',
    ],
    ['7,000 objects in one another', CREATE, { body: '{"plant":'.repeat(7_000) }, 400, 'invalid_argument'],
  ])('%s', async (_, path, parts, status, code) => {
    const reply = await send('POST', path, parts);
    expect({ status: reply.status, code: JSON.parse(reply.text).code }).toEqual({ status, code });
  });
});
