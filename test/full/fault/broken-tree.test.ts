import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@connectrpc/connect';
import { expect, test } from 'vitest';
import { PlantStoreService } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { openMongo } from '../../../src/log/mongo/open.ts';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import type { Store } from '../../../src/log/store.ts';
import { EMPTY_ROOT } from '../../../src/tlog/hash.ts';
import { dropDatabase, HAS_MONGODB, newDatabase } from '../../store/open-mongo.ts';
import { fill } from '../../support/fill.ts';
import { client, expectError } from '../../support/http.ts';
import { callErrorOf, TRANSPORTS } from '../../support/protocols.ts';
import { plantstore } from '../../support/run.ts';
import { type Service, startService } from '../../support/service.ts';
import { storeState } from '../../support/store-state.ts';

const TOLD = 'the tree of the log is broken';
const REMEDY = 'run plantstore audit verify, then plantstore audit rebuild';

/** What the service says of its store: to a load balancer, and in metrics. */
const state = (service: Service) => storeState(service, { tree: 'tree_broken', log: 'log_broken' });

const well = { status: 200, store: { name: 'store', ready: true }, tree: '0', log: '0' };

/** Node 1 of 4 is lost: everything beside it is what it was. */
async function lose({ tree }: Store): Promise<void> {
  const nodes = await tree.read(1, 2, 4);
  await tree.truncate(1, 1);
  await tree.write(1, 2, nodes);
}

const change = ({ tree }: Store): Promise<void> => tree.write(1, 1, [EMPTY_ROOT]);

const DAMAGES = [
  ['lost', lose, 'is missing'],
  ['changed', change, 'is not that of its events'],
] as const;

/** Damages the tree between two starts, expects the service to tell once, and to go on once the tree is rebuilt. */
async function expectTold(
  environment: Readonly<Record<string, string>>,
  open: () => Store | Promise<Store>,
  damage: (store: Store) => Promise<void>,
  why: string,
): Promise<void> {
  const store = await open();
  await fill(store, 1_100, 'alice');
  const built = await startService(environment);
  await expect.poll(() => store.tree.count(1), { timeout: 20_000 }).toBe(4);
  await built.stop();
  await damage(store);

  await using service = await startService(environment);
  const alice = client(service.url, await service.token('alice'));
  const refused = ['checkpoint', 'proof/300', 'tile/0/001', 'tile/0/001.p/9', 'tile/1/000.p/4', 'tile/entries/001'];
  for (let asked = 0; asked < 2; asked++)
    for (const path of refused) {
      const reply = await alice('GET', `/log/${path}`);
      expect([path, expectError(reply, 503, 14)]).toEqual([
        path,
        'nothing can be proved of this part of the log until its tree is rebuilt; try again',
      ]);
      expect(reply.headers['cache-control']).toBe('no-store');
    }
  const headers = { authorization: `Bearer ${await service.token('alice')}` };
  const receipt = createClient(PlantStoreService, TRANSPORTS[0]!.open(service)).getReceipt(
    { position: 300n },
    { headers },
  );
  expect(callErrorOf(await receipt.catch((thrown: unknown) => thrown))).toMatchObject({ reason: 'STORE_UNAVAILABLE' });
  const detail = `${TOLD}: node 1 of level 1 ${why}: ${REMEDY}`;
  await expect
    .poll(() => state(service))
    .toEqual({ status: 200, store: { name: 'store', ready: true, degraded: true, detail }, tree: '1', log: '0' });
  expect((await alice('POST', '/plants', { body: '{"id":7000,"name":"Fern"}' })).status).toBe(200);
  expect(JSON.parse((await alice('GET', '/plants?limit=2')).text)).toHaveLength(2);
  const [PORT, ADMIN_PORT] = [new URL(service.url).port, new URL(service.adminUrl).port];
  const doctor = await plantstore(['doctor'], { ...environment, PORT, ADMIN_PORT });
  expect(doctor.code).toBe(1);
  expect(doctor.stdout).toContain(`it runs, but ${detail}`);
  expect(doctor.stdout).toMatch(new RegExp(`^fail +tree +${detail}$`, 'm'));
  expect(await plantstore(['audit', 'verify'], environment)).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^chain +yes[\s\S]*^tree +NO /m),
  });
  await sleep(2_500);
  expect(service.logs.filter((line) => JSON.stringify(line).includes(TOLD))).toMatchObject([
    { level: 'error', msg: TOLD, err: { message: detail } },
  ]);

  expect(await plantstore(['audit', 'rebuild'], environment)).toMatchObject({ code: 0 });
  await expect.poll(() => state(service), { timeout: 10_000 }).toEqual(well);
  for (const path of refused) expect([path, (await alice('GET', `/log/${path}`)).status]).toEqual([path, 200]);
  expect(await service.logged(({ msg }) => msg === 'the tree of the log is whole again')).toMatchObject({
    level: 'info',
  });
  await store.close();
}

test.each(DAMAGES)(
  'a node of the tree that was %s, on SQLite, is told of once, and refused, until the tree is rebuilt',
  async (_, damage, why) => {
    const DATA_DIR = mkdtempSync(join(tmpdir(), 'plantstore-tree-'));
    await expectTold({ DATA_DIR }, () => openSqlite(DATA_DIR), damage, why);
    rmSync(DATA_DIR, { recursive: true });
  },
);

test.runIf(HAS_MONGODB).each(DAMAGES)(
  'a node of the tree that was %s, on MongoDB, is told of once, and refused, until the tree is rebuilt',
  async (_, damage, why) => {
    const uri = newDatabase();
    await expectTold({ MONGODB_URI: uri }, () => openMongo(uri), damage, why);
    await dropDatabase(uri);
  },
);
