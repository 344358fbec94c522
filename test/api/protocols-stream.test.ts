import { type CallOptions, createClient } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PlantStoreService } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import { openSqlite } from '../../src/log/sqlite/store.ts';
import { fill } from '../support/fill.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import { callErrorOf, TRANSPORTS } from '../support/protocols.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const PLANTS = 2_500;
const NAMES = Array.from({ length: PLANTS }, (_, id) => `Plant ${id}`);

const directory = temporaryDirectory(afterAll);
let service: LocalService;
beforeAll(async () => {
  const store = openSqlite(directory);
  await fill(store, PLANTS, 'alice');
  await store.close();
  // So that hundreds of requests at once are served on a slow machine too.
  service = await startLocalService({ DATA_DIR: directory, MAX_WAIT: '30000' });
});
afterAll(() => service.stop());

const as = async (owner: string): Promise<CallOptions> => ({
  headers: { authorization: `Bearer ${await service.token(owner)}` },
});

describe.each(TRANSPORTS)('$name', ({ open }) => {
  const connect = () => createClient(PlantStoreService, open(service));

  test('a stream has every plant once, in order; after every message, its cursor goes on with the next plant, as a stream and as a list', async () => {
    const plants = connect();
    const options = await as('alice');
    let seen = 0;
    for await (const message of plants.streamPlants({}, options)) {
      expect(message.plants.length).toBeLessThanOrEqual(1_000);
      expect(message.plants.map(({ name }) => name)).toEqual(NAMES.slice(seen, seen + message.plants.length));
      seen += message.plants.length;
      const cursor = message.nextCursor;
      const page = await plants.listPlants({ cursor, limit: 1 }, options);
      expect(page.plants.map(({ name }) => name)).toEqual(NAMES.slice(seen, seen + 1));
      let rest = 0;
      for await (const { plants: more } of plants.streamPlants({ cursor }, options)) rest += more.length;
      expect(rest).toBe(PLANTS - seen);
    }
    expect(seen).toBe(PLANTS);
  });

  test('a list has at most 1,000 plants, whatever the limit, and says where the rest is', async () => {
    const plants = connect();
    const options = await as('alice');
    for (const request of [{}, { limit: 1_000 }, { limit: 2_147_483_647 }]) {
      const names: string[] = [];
      let cursor = '';
      do {
        const page = await plants.listPlants({ ...request, cursor }, options);
        expect(page.plants.length).toBeLessThanOrEqual(1_000);
        names.push(...page.plants.map(({ name }) => name));
        cursor = page.nextCursor;
      } while (cursor !== '');
      expect(names).toEqual(NAMES);
    }
  });

  test('large plants come in more and smaller messages, none above what clients take', async () => {
    const plants = connect();
    const options = await as(`gardener over ${TRANSPORTS.findIndex((transport) => transport.open === open)}`);
    const name = '🌱'.repeat(1024);
    const count = 300;
    await Promise.all(
      Array.from({ length: count }, (_, id) =>
        plants.createPlant({ plant: { id: BigInt(id), name, tag: name } }, options),
      ),
    );
    let streamed = 0;
    for await (const message of plants.streamPlants({}, options)) streamed += message.plants.length;
    expect(streamed).toBe(count);
    let listed = 0;
    let cursor = '';
    do {
      const page = await plants.listPlants({ limit: count, cursor }, options);
      listed += page.plants.length;
      cursor = page.nextCursor;
      expect(page.plants.length).toBeLessThan(count);
    } while (cursor !== '');
    expect(listed).toBe(count);
  });

  test('a stream fails as a list does', async () => {
    const failure = async (cursor: string, options?: CallOptions) => {
      try {
        for await (const _ of connect().streamPlants({ cursor }, options)) throw new Error('the call succeeded');
      } catch (thrown) {
        return callErrorOf(thrown);
      }
      throw new Error('the call succeeded');
    };
    expect(await failure('')).toMatchObject({ code: 16, reason: 'TOKEN_MISSING' });
    expect(await failure('AAAA', await as('alice'))).toMatchObject({
      code: 3,
      reason: 'INVALID_CURSOR',
      field: 'cursor',
    });
  });
});
