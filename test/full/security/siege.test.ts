import { setTimeout as sleep } from 'node:timers/promises';
import { credentials, makeClientConstructor } from '@grpc/grpc-js';
import { service as healthService } from 'grpc-health-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unary } from '../../support/grpc.ts';
import { PROTOCOLS } from '../../support/protocols.ts';
import { type Service, startService } from '../../support/service.ts';
import { WEAPONS } from './siege.ts';

/** A place that is held is held for longer. To wait for the CPU of a busy machine is another matter. */
const MAX_WAIT = '10000';

/** Lists the plants of an owner over every protocol, and asks for the health. Rejects when one of them is refused. */
async function serve(service: Service, token: string): Promise<void> {
  const health = new (makeClientConstructor(healthService, 'health'))(service.grpcUrl, credentials.createInsecure());
  try {
    await Promise.all([
      ...PROTOCOLS.map(async ({ name, client }) =>
        expect(await client(service, `Bearer ${token}`).list(), name).toMatchObject({ plants: [{ name: 'Fern' }] }),
      ),
      unary(health, 'check', {}),
    ]);
  } finally {
    health.close();
  }
}

/** A service with a plant of Alice's. */
async function begin(environment: Readonly<Record<string, string>> = {}) {
  const service = await startService(environment);
  const [alice, mallory] = [await service.token('alice'), await service.token('mallory')];
  await PROTOCOLS[0]!.client(service, `Bearer ${alice}`).create(1n, 'Fern');
  return { service, alice, mallory };
}

describe('no request that does not come to its end takes a place from others', () => {
  let scene: Awaited<ReturnType<typeof begin>>;
  beforeAll(async () => {
    // So that what one owner may have on its way is more than one who is served here sends at once.
    scene = await begin({ MAX_IN_FLIGHT: '128', MAX_WAIT });
  });
  afterAll(() => scene.service.stop());

  test.each(WEAPONS)('$name', async ({ lay }) => {
    const { service, alice, mallory } = scene;
    using _siege = lay({ url: service.url, grpcUrl: service.grpcUrl, token: mallory }, 512);
    for (let round = 0; round < 3; round++) {
      await sleep(50);
      await serve(service, alice);
    }
  });
});

/** Each of these alone held all places before. */
const ENOUGH = ['gRPC: headers alone, without a token', 'REST: 404 and an announced body'];

test('under all of them at once others are served, and memory stays', async () => {
  const { service, alice, mallory } = await begin({
    // As in a container of 512 MiB. Else the young generation grows to 128 MiB under any load.
    NODE_OPTIONS: '--max-old-space-size=320 --max-semi-space-size=16 --v8-pool-size=1',
    MAX_WAIT,
  });
  // Under some load of its own, so that what any load makes the heap grow to does not count.
  for (let round = 0; round < 20; round++) await Promise.all(Array.from({ length: 16 }, () => serve(service, alice)));
  const before = service.residentMemory;
  let most = before;
  const serveAll = async () => {
    await serve(service, alice);
    most = Math.max(most, service.residentMemory);
  };
  const target = { url: service.url, grpcUrl: service.grpcUrl, token: mallory };
  const laid: Disposable[] = [];
  for (const { name, lay } of WEAPONS) {
    laid.push(lay(target, ENOUGH.includes(name) ? 1_024 : 16));
    await serveAll();
  }
  for (let round = 0; round < 20; round++) await serveAll();
  expect(most - before).toBeLessThan(40);
  for (const siege of laid) siege[Symbol.dispose]();
  await service.stop();
});
