import { createClient } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { View } from '../../gen/plantstore/v1/plant_pb.ts';
import { PlantStoreService } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import { client, expectError, type Send } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import { callErrorOf, TRANSPORTS } from '../support/protocols.ts';

const MOSS = 9007199254740993n;
const LEAST = -(2n ** 63n);

let service: LocalService;
let send: Send;
let headers: { authorization: string };

beforeAll(async () => {
  service = await startLocalService();
  const token = await service.token('alice');
  headers = { authorization: `Bearer ${token}` };
  send = client(service.url, token);
  await send('POST', '/plants', { body: '{"id":7,"name":"Fern","tag":"indoor"}' });
  await send('POST', '/plants', { body: `{"id":${MOSS},"name":"Moss"}` });
  await send('POST', '/plants', { body: `{"id":${LEAST},"name":""}` });
});
afterAll(async () => {
  await service.stop();
});

const BASIC = '[{"name":""},{"name":"Fern","tag":"indoor"},{"name":"Moss"}]';
const FULL = `[{"id":${LEAST},"name":""},{"id":7,"name":"Fern","tag":"indoor"},{"id":${MOSS},"name":"Moss"}]`;

test('a list shows ids when they are asked for, and not otherwise, in any turn', async () => {
  for (let round = 0; round < 2; round++) {
    expect((await send('GET', '/plants')).text).toBe(BASIC);
    expect((await send('GET', '/plants?view=FULL')).text).toBe(FULL);
    expect((await send('GET', '/plants?view=BASIC')).text).toBe(BASIC);
  }
  const [basic, full] = [await send('GET', '/plants'), await send('GET', '/plants?view=FULL')];
  expect(full.headers.etag).not.toBe(basic.headers.etag);
  expect((await send('GET', '/plants?view=FULL', { headers: { 'if-none-match': full.headers.etag! } })).status).toBe(
    304,
  );
  expect((await send('GET', '/plants?view=FULL', { headers: { 'if-none-match': basic.headers.etag! } })).status).toBe(
    200,
  );
});

test('the next page of a list is in the same view', async () => {
  const pages: string[] = [];
  for (let path = '/plants?limit=1&view=FULL'; path !== ''; ) {
    const page = await send('GET', path);
    pages.push(page.text.slice(1, -1));
    path = /^<([^>]+)>/.exec(String(page.headers.link ?? ''))?.[1] ?? '';
    if (path !== '') expect(new URL(path, service.url).searchParams.get('view')).toBe('FULL');
  }
  expect(`[${pages.join()}]`).toBe(FULL);
  const { link } = (await send('GET', '/plants?limit=1')).headers;
  expect(link).toMatch(/^<\/plants\?limit=1&cursor=[\w-]+>; rel="next"$/);
});

test('a plant is there by its id, of its owner alone', async () => {
  expect((await send('GET', '/plants/7')).text).toBe('{"name":"Fern","tag":"indoor"}');
  expect((await send('GET', '/plants/7?view=FULL')).text).toBe('{"id":7,"name":"Fern","tag":"indoor"}');
  expect((await send('GET', `/plants/${MOSS}?view=FULL`)).text).toBe(`{"id":${MOSS},"name":"Moss"}`);
  expect((await send('GET', `/plants/${LEAST}`)).text).toBe('{"name":""}');
  expect(await send('HEAD', '/plants/7')).toMatchObject({ status: 200, text: '', headers: { 'content-length': '30' } });
  expectError(await send('GET', `/plants/${MOSS - 1n}`), 404, 5);
  expectError(await client(service.url, await service.token('bob'))('GET', '/plants/7'), 404, 5);
});

describe.each(TRANSPORTS)('$name', ({ open }) => {
  test('shows ids in the full view only', async () => {
    const plants = createClient(PlantStoreService, open(service));
    const ids = [LEAST, 7n, MOSS];
    for (const [view, shown] of [
      [View.UNSPECIFIED, ids.map(() => undefined)],
      [View.FULL, ids],
      [View.BASIC, ids.map(() => undefined)],
    ] as const) {
      expect((await plants.listPlants({ view }, { headers })).plants.map(({ id }) => id)).toEqual(shown);
      for await (const page of plants.streamPlants({ view }, { headers }))
        expect(page.plants.map(({ id }) => id)).toEqual(shown);
      expect((await plants.getPlant({ id: 7n, view }, { headers })).plant).toMatchObject({
        name: 'Fern',
        tag: 'indoor',
      });
      expect((await plants.getPlant({ id: 7n, view }, { headers })).plant!.id).toBe(shown[1]);
    }
    const failing = (call: Promise<unknown>) => call.catch((thrown) => Promise.reject(callErrorOf(thrown)));
    await expect(failing(plants.listPlants({ view: 9 as View }, { headers }))).rejects.toMatchObject({ code: 3 });
    await expect(failing(plants.getPlant({ id: 8n }, { headers }))).rejects.toMatchObject({
      code: 5,
      reason: 'PLANT_NOT_FOUND',
    });
  });
});
