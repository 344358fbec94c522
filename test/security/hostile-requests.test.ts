import { randomUUID } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { client } from '../support/http.ts';
import { startLocalService } from '../support/local-service.ts';

const uri = inject('mongodbUri')?.replace('/?', `/plantstore-${randomUUID()}?`);
const STORES = { SQLite: {}, ...(uri !== undefined && { MongoDB: { MONGODB_URI: uri } }) };
const OPERATORS = ['{"$gt":""}', '$gt', "' OR 1=1 --", '"; DROP TABLE events; --', '$where'];

test.each(Object.entries(STORES))('on %s an operator as text, and as an owner, is text', async (_, environment) => {
  await using service = await startLocalService(environment);
  const alice = client(service.url, await service.token('alice'));
  expect((await alice('POST', '/plants', { body: '{"id":7,"name":"Fern"}' })).status).toBe(200);
  for (const [id, name] of OPERATORS.entries()) {
    const owner = client(service.url, await service.token(name));
    expect(JSON.parse((await owner('GET', '/plants')).text)).toEqual([]);
    const body = JSON.stringify({ id, name, tag: name });
    expect((await owner('POST', '/plants', { body })).status).toBe(200);
    expect(JSON.parse((await owner('GET', '/plants')).text)).toEqual([{ name, tag: name }]);
  }
  expect((await alice('GET', '/plants')).text).toBe('[{"name":"Fern"}]');
});
