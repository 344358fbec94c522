import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openMongo } from '../../../src/log/mongo/store.ts';
import { HAS_MONGODB } from '../../store/open-mongo.ts';
import { readLog, verifyLog } from '../../support/fold.ts';
import { addPlants, followLog } from '../../support/follow.ts';
import { TRANSPORTS } from '../../support/protocols.ts';
import { ReplicaSet } from '../../support/replica-set.ts';
import { type Service, startService } from '../../support/service.ts';
import { count } from '../../support/soak.ts';

const PLANTS = count(2_000, 100_000);
const CLIENTS = 200;

const { open: openGrpc } = TRANSPORTS.find(({ name }) => name === 'gRPC')!;

describe.runIf(HAS_MONGODB)('following on MongoDB', () => {
  const directory = mkdtempSync(join(tmpdir(), 'plantstore-follow-'));
  const database = `plantstore-${randomUUID()}`;
  let set: ReplicaSet;
  let services: Service[];

  const start = () => startService({ DATA_DIR: directory, MONGODB_URI: set.uri(database) });

  beforeAll(async () => {
    set = await ReplicaSet.start(3);
    services = [await start(), await start()];
  });

  afterAll(async () => {
    await Promise.all(services.map((service) => service.stop()));
    await set.remove();
    rmSync(directory, { recursive: true });
  });

  test('a follower sees what every instance appends once, in order, through failovers and the death of an instance', async () => {
    const seen: number[] = [];
    const [following] = services as [Service];
    const transports = services.map(openGrpc);
    const token = await following.token('alice');
    const auditor = await following.token('auditor', 'plants:audit');
    let calls = 0;
    const adding = addPlants(() => services[calls++ % 2]!.url, token, PLANTS, CLIENTS);
    const watching = followLog(() => transports[0]!, auditor, PLANTS, seen);
    const until = async (part: number) => {
      while (seen.length < PLANTS * part) await sleep(5);
    };
    await until(0.2);
    await set.stepDown();
    await until(0.4);
    const primary = await set.primary();
    await primary.kill();
    await until(0.6);
    await primary.start();
    await following.kill();
    services[0] = await start();
    transports[0] = openGrpc(services[0]);
    await Promise.all([adding, watching]);
    expect(seen).toEqual(Array.from({ length: PLANTS }, (_, index) => index + 1));
    const store = await openMongo(set.uri(database));
    const events = await readLog(store);
    await store.close();
    verifyLog(events);
    expect(events).toHaveLength(PLANTS);
  }, 240_000);
});
