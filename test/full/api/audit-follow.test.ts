import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Transport } from '@connectrpc/connect';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { readLog, verifyLog } from '../../support/fold.ts';
import { addPlants, followLog } from '../../support/follow.ts';
import { TRANSPORTS } from '../../support/protocols.ts';
import { type Service, startService } from '../../support/service.ts';
import { count } from '../../support/soak.ts';

const PLANTS = count(2_000, 100_000);
const CLIENTS = 200;
const RESTARTS = count(2, 20);

const { open: openGrpc } = TRANSPORTS.find(({ name }) => name === 'gRPC')!;

const directory = mkdtempSync(join(tmpdir(), 'plantstore-follow-'));
let service: Service;
let transport: Transport;

/** Starts the service, again on the same data and other ports. */
async function start(): Promise<void> {
  service = await startService({ DATA_DIR: directory });
  transport = openGrpc(service);
}

beforeAll(start);

afterAll(async () => {
  await service.stop();
  rmSync(directory, { recursive: true });
});

test('a follower that goes on where it broke sees every position once, in order, through restarts under load', async () => {
  const seen: number[] = [];
  const adding = addPlants(() => service.url, await service.token('alice'), PLANTS, CLIENTS);
  const following = followLog(() => transport, await service.token('auditor', 'plants:audit'), PLANTS, seen);
  for (let restart = 1; restart <= RESTARTS; restart++) {
    while (seen.length < (PLANTS * restart) / (RESTARTS + 1)) await sleep(5);
    if (restart === 1) await service.stop();
    else await service.kill();
    await start();
  }
  await Promise.all([adding, following]);
  expect(seen).toEqual(Array.from({ length: PLANTS }, (_, index) => index + 1));
  const store = openSqlite(directory, { readOnly: true });
  const events = await readLog(store);
  await store.close();
  verifyLog(events);
  expect(events).toHaveLength(PLANTS);
}, 180_000);
