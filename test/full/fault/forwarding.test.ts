import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openMongo } from '../../../src/log/mongo/store.ts';
import type { Store } from '../../../src/log/store.ts';
import { HAS_MONGODB } from '../../store/open-mongo.ts';
import { readLog, verifyLog } from '../../support/fold.ts';
import { client } from '../../support/http.ts';
import { Instances } from '../../support/instances.ts';
import { ReplicaSet } from '../../support/replica-set.ts';
import { count, SOAK } from '../../support/soak.ts';
import type { Fate } from '../../support/tcp-proxy.ts';

/** Clients at once of each instance that forwards. */
const CLIENTS = 4;

const FATES: readonly Fate[] = ['lose request', 'lose reply', 'stall'];

/** What befalls the writer, or the links to it. */
const FAULTS: readonly (readonly [string, (instances: Instances, writer: number) => Promise<void>])[] = [
  [
    'the writer is killed, and comes back',
    async (instances, writer) => {
      await instances.services[writer]!.kill();
      await sleep(1_000);
      await instances.restart(writer);
    },
  ],
  [
    'the writer is frozen, and wakes',
    async ({ services }, writer) => {
      process.kill(services[writer]!.pid, 'SIGSTOP');
      await sleep(4_500);
      process.kill(services[writer]!.pid, 'SIGCONT');
    },
  ],
  [
    'the links to it break, stall and go on',
    async ({ proxies }) => {
      let chunks = 0;
      for (const proxy of proxies)
        proxy.fate = () => (++chunks % 50 === 0 ? FATES[(chunks / 50) % FATES.length]! : 'forward');
      for (let step = 0; step < 12; step++) {
        await sleep(300);
        for (const proxy of proxies) proxy.release();
      }
    },
  ],
  [
    'it cannot be reached',
    async ({ proxies }, writer) => {
      proxies[writer]!.fate = () => 'lose request';
      proxies[writer]!.cut();
      await sleep(2_000);
    },
  ],
];

describe.runIf(HAS_MONGODB)('three instances, of which one writes', () => {
  const opened = new AsyncDisposableStack();
  let instances: Instances;
  let store: Store;

  beforeAll(async () => {
    const set = await ReplicaSet.start(3);
    opened.defer(() => set.remove());
    const MONGODB_URI = set.uri(`plantstore-${randomUUID()}`);
    instances = opened.use(await Instances.start(3, { MONGODB_URI }));
    store = opened.adopt(await openMongo(MONGODB_URI), (open) => open.close());
  }, 120_000);
  afterAll(() => opened.disposeAsync());

  let ids = 0;

  /** Has clients of the others add and delete plants while it happens, and for a while after. Returns their names. */
  async function addedDuring(owner: string, fault: (typeof FAULTS)[number][1]): Promise<string[]> {
    const writer = await instances.settled(`settler of ${owner}`);
    const token = await instances.token(owner);
    const names: string[] = [];
    let isOver = false;
    const adds = async (url: string) => {
      for (const send = client(url, token); !isOver; ) {
        const name = `${ids++}`;
        const { status, headers, text } = await send('POST', '/plants', { body: `{"id":${name},"name":"${name}"}` });
        expect(status, text).toBe(200);
        // Its event has the id that it was sent with.
        expect(headers).not.toHaveProperty('idempotency-replayed');
        names.push(name);
        expect((await send('DELETE', `/plants/${name}`)).status).toBe(204);
      }
    };
    const others = instances.services.filter((_, index) => index !== writer);
    const clients = others.flatMap(({ url }) => Array.from({ length: CLIENTS }, () => adds(url)));
    const happens = async () => {
      await fault(instances, writer);
      for (const proxy of instances.proxies) {
        proxy.fate = () => 'forward';
        proxy.release();
      }
      for (const enough = names.length + 20; names.length < enough; ) await sleep(10);
      isOver = true;
    };
    await Promise.all([happens(), ...clients]);
    return names;
  }

  test.each(FAULTS)(
    '%s: no command at the others fails, and each is in the log once',
    { timeout: count(60_000, 600_000) },
    async (...[what, fault]) => {
      for (let times = 0; times < count(1, 10); times++) {
        const owner = `${what} ${times}`;
        const names = await addedDuring(owner, fault);
        const log = await readLog(store);
        verifyLog(log);
        const own = log.map(({ event }) => event).filter((event) => event.owner === owner);
        const added = own.flatMap((event) => (event.type === 'PlantAdded' ? [event.name] : []));
        expect(added.toSorted()).toEqual(names.toSorted());
        expect(own).toHaveLength(2 * names.length);
      }
    },
  );

  test('they forward again, and have not said for each command that the writer cannot be reached', async () => {
    await instances.settled('settler');
    for (const { logs } of instances.services) {
      const lines = logs.filter(({ msg }) => /cannot be reached/.test(String(msg)));
      expect(lines.length).toBeLessThanOrEqual(SOAK ? 100 : 8);
    }
  });
});
