import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentials, makeClientConstructor } from '@grpc/grpc-js';
import { service as healthService } from 'grpc-health-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unary } from '../support/grpc.ts';
import { PROTOCOLS } from '../support/protocols.ts';
import { type Service, startService } from '../support/service.ts';
import { WEAPONS } from './siege.ts';

const residentMegabytes = ({ pid }: Service): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;

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
    scene = await begin({ MAX_IN_FLIGHT: '8' });
  });
  afterAll(() => scene.service.stop());

  test.each(WEAPONS)('$name', async ({ lay }) => {
    const { service, alice, mallory } = scene;
    using _siege = lay({ url: service.url, grpcUrl: service.grpcUrl, token: mallory }, 256);
    for (let round = 0; round < 3; round++) {
      await sleep(50);
      await serve(service, alice);
    }
  });
});

test('under all of them at once others are served, and memory stays', async () => {
  const { service, alice, mallory } = await begin();
  for (let round = 0; round < 50; round++) await serve(service, alice);
  const before = residentMegabytes(service);
  const target = { url: service.url, grpcUrl: service.grpcUrl, token: mallory };
  const most = [before];
  for (let round = 0; round < 3; round++) {
    const laid = WEAPONS.map(({ lay }) => lay(target, round === 0 ? 1_024 : 128));
    for (let served = 0; served < 10; served++) {
      const begun = performance.now();
      await serve(service, alice);
      console.log('served', performance.now() - begun, residentMegabytes(service) - before);
      most.push(residentMegabytes(service));
    }
    for (const siege of laid) siege[Symbol.dispose]();
  }
  console.log(most.map((m) => Math.round(m - before)).join(' '));
  expect(Math.max(...most) - before).toBeLessThan(40);
  await service.stop();
}, 120_000);
