import { randomUUID } from 'node:crypto';
import { createClient } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PlantStoreService } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import { bearer, grpcClient, unary } from '../support/grpc.ts';
import { client, type Reply, type Send } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import { failure, PROTOCOLS, TRANSPORTS } from '../support/protocols.ts';

let service: LocalService;
beforeAll(async () => {
  service = await startLocalService();
});
afterAll(() => service.stop());

const FERN = '{"id":7,"name":"Fern","tag":"indoor"}';

const newOwner = async (): Promise<Send> => client(service.url, await service.token(randomUUID()));

const post = (send: Send, key: string | string[], body = FERN) =>
  send('POST', '/plants', { body, headers: { 'Idempotency-Key': key } });

const remove = (send: Send, key: string, id = 7) =>
  send('DELETE', `/plants/${id}`, { headers: { 'Idempotency-Key': key } });

/** A reply without what every reply has of its own, and that it is one of an earlier request. */
const lasting = ({ status, text, headers: { date, 'idempotency-replayed': replayed, ...headers } }: Reply) => ({
  status,
  text,
  headers,
});

/** Whether a reply says that it is one of an earlier request. */
const isReplayed = ({ headers }: Reply): boolean => {
  expect([undefined, 'true']).toContain(headers['idempotency-replayed']);
  return headers['idempotency-replayed'] === 'true';
};

describe('REST', () => {
  test('what is answered again says so, and nothing else does', async () => {
    const send = await newOwner();
    expect(isReplayed(await post(send, 'k'))).toBe(false);
    expect(isReplayed(await post(send, 'k'))).toBe(true);
    expect(isReplayed(await post(send, 'k', '{"id":8,"name":"Moss"}'))).toBe(false);
    expect(isReplayed(await remove(send, 'd'))).toBe(false);
    expect(isReplayed(await remove(send, 'd'))).toBe(true);
    expect(isReplayed(await remove(send, 'e'))).toBe(false);
    expect(isReplayed(await send('POST', '/plants', { body: FERN }))).toBe(false);
    const same = await Promise.all(Array.from({ length: 8 }, () => remove(send, 'at-once')));
    expect(same.map(({ status }) => status)).toEqual(same.map(() => 204));
    expect(same.filter(isReplayed)).toHaveLength(7);
  });

  test('a key means something to its owner alone, whatever characters both have', async () => {
    const [long, short] = await Promise.all(
      ['xy', 'y'].map(async (owner) => client(service.url, await service.token(owner))),
    );
    expect((await post(long!, 'k')).status).toBe(200);
    expect(isReplayed(await post(short!, 'kx'))).toBe(false);
  });

  test('the same request is the same message, however it is written', async () => {
    const send = await newOwner();
    const added = await post(send, '"k"');
    const other = '{ "tag": "in\\u0064oor", "more": 1, "name": "Fern", "id": 7.0e0 }';
    expect(lasting(await post(send, 'k', other))).toEqual(lasting(added));
  });

  test.each([
    ['quotes and backslashes', '"a\\"b\\\\c"', '"a\\"b\\\\c"'],
    ['spaces, commas and semicolons', '" a, b; c=d "', '" a, b; c=d "'],
    ['a bare UUID', '8e03978e-40d5-43dd-bc93-6894a57f9324', '"8e03978e-40d5-43dd-bc93-6894a57f9324"'],
    ['bare Base64', 'YWxpY2U+/w==', '"YWxpY2U+/w=="'],
    ['255 characters', 'x'.repeat(255), `"${'x'.repeat(255)}"`],
    ['one character', '!', '"!"'],
  ])('a key may be %s; quoted or not it is one', async (_, key, again) => {
    const send = await newOwner();
    const added = await post(send, key);
    expect(added.status).toBe(200);
    expect(lasting(await post(send, again))).toEqual(lasting(added));
  });
});

describe.each(PROTOCOLS)('$name', ({ client: open }) => {
  test('is answered again, as on every other way in', async () => {
    const authorization = `Bearer ${await service.token(randomUUID())}`;
    const withKey = (key: string) => open(service, authorization, { 'Idempotency-Key': key });
    const added = await withKey('"add"').create(7n, 'Fern');
    const removed = await withKey('"remove"').delete(7n);
    for (const other of PROTOCOLS) {
      const there = (key: string) => other.client(service, authorization, { 'Idempotency-Key': key });
      expect(await there('add').create(7n, 'Fern')).toEqual(added);
      expect(await there('remove').delete(7n)).toEqual(removed);
    }
    expect((await withKey('"add"').list()).plants).toEqual([]);
    const reuse = { code: 9, reason: 'IDEMPOTENCY_KEY_REUSED' };
    expect(await failure(withKey('add').create(7n, 'Fern', 'indoor'))).toMatchObject(reuse);
    expect(await failure(withKey('add').delete(7n))).toMatchObject(reuse);
    const malformed = { code: 3, reason: 'IDEMPOTENCY_KEY_MALFORMED' };
    expect(await failure(withKey('"a" "b"').create(7n, 'Fern'))).toMatchObject(malformed);
  });
});

test('what a key may have without quotes is what the message about a malformed one says', async () => {
  const authorization = `Bearer ${await service.token(randomUUID())}`;
  const added = (key: string) =>
    fetch(`${service.url}/plants`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json', 'idempotency-key': key },
      body: '{"id":7,"name":"Fern"}',
    });
  const first = await (await added('"a.b:{c}=d"')).text();
  expect(await (await added('a.b:{c}=d')).text()).toBe(first);
  for (const key of ['a b', 'a,b', 'a;b', 'a"b', 'a\\b']) {
    const answer = await added(key);
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringContaining('in quotes if it has spaces, commas, semicolons, quotes or backslashes'),
    ]);
  }
});

test('several keys in the metadata of one call are refused', async () => {
  const metadata = bearer(await service.token(randomUUID()));
  metadata.add('idempotency-key', 'a');
  metadata.add('idempotency-key', 'a');
  const call = unary(grpcClient(service.grpcUrl), 'deletePlant', { id: 7n }, metadata);
  expect(await failure(call)).toMatchObject({
    code: 3,
    details: expect.stringMatching(/^Idempotency-Key must be one/),
  });
});

test.each(TRANSPORTS)('a replayed answer says so over $name', async ({ open }) => {
  const plants = createClient(PlantStoreService, open(service));
  const authorization = `Bearer ${await service.token(randomUUID())}`;
  const added: (string | null)[] = [];
  const add = (key: string) =>
    plants.createPlant(
      { plant: { id: 7n, name: 'Fern' } },
      {
        headers: { authorization, 'idempotency-key': key },
        onHeader: (headers) => added.push(headers.get('idempotency-replayed')),
        onTrailer: (trailers) => added.push(trailers.get('idempotency-replayed')),
      },
    );
  await add('one');
  expect(added.splice(0)).toEqual([null, null]);
  await add('one');
  expect(added.filter(Boolean)).toEqual(['true']);
});
