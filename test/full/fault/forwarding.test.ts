import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openMongo } from '../../../src/log/mongo/store.ts';
import type { Store } from '../../../src/log/store.ts';
import { HAS_MONGODB } from '../../store/open-mongo.ts';
import { fold, readLog, verifyLog } from '../../support/fold.ts';
import { Instances } from '../../support/instances.ts';
import { isLinearizable } from '../../support/linearizability.ts';
import { type PlantInput, type PlantOperation, type PlantOutput, plantsModel } from '../../support/plants-model.ts';
import { ReplicaSet } from '../../support/replica-set.ts';
import type { Service } from '../../support/service.ts';
import { count, SOAK } from '../../support/soak.ts';
import type { Fate } from '../../support/tcp-proxy.ts';

/** Milliseconds after which a client gives up an instance that does not answer. */
const PATIENCE = 20_000;
/** Owners at once, each with a client that goes to whatever instance. */
const OWNERS = 4;
const CLIENTS = 3;
/** Most milliseconds between two operations of a client. */
const PAUSE = count(100, 40);

/** What the clients saw. */
interface Tally {
  readonly histories: Map<string, PlantOperation[]>;
  /** Positions by the names of plants. */
  readonly acknowledged: Map<string, string>;
  /** Answers that tell of a fault, by the instance that gave them. */
  readonly failures: { readonly at: Service; readonly answer: string }[];
  /** When writes were acknowledged, of performance.now(). */
  readonly times: number[];
}

let round = 0;

/** Random operations of one owner, one after the other, each at some instance. */
async function client(
  instances: Instances,
  owner: string,
  name: string,
  tally: Tally,
  isRunning: () => boolean,
): Promise<void> {
  const token = await instances.token(owner);
  const history = tally.histories.get(owner)!;
  const ask = async (at: Service, method: string, path: string, body?: string) => {
    const signal = AbortSignal.timeout(PATIENCE);
    const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) };
    const reply = await fetch(at.url + path, { method, headers, signal, ...(body && { body }) });
    return { status: reply.status, text: await reply.text() };
  };
  for (let step = 0; isRunning(); step++) {
    await sleep(Math.random() * PAUSE);
    const id = Math.floor(Math.random() * 3);
    const plant = `${name}.${step}`;
    const input = [{ do: 'add', id, name: plant }, { do: 'delete', id }, { do: 'list' }][
      Math.floor(Math.random() * 3)
    ] as PlantInput;
    const at = instances.services[Math.floor(Math.random() * instances.services.length)]!;
    const called = performance.now();
    let output: PlantOutput | undefined;
    try {
      if (input.do === 'list') {
        const { status, text } = await ask(at, 'GET', '/plants');
        if (status === 200) output = (JSON.parse(text) as { name: string }[]).map((listed) => listed.name);
        else tally.failures.push({ at, answer: text });
      } else {
        const { status, text } =
          input.do === 'add'
            ? await ask(at, 'POST', '/plants', JSON.stringify({ id, name: plant }))
            : await ask(at, 'DELETE', `/plants/${id}`);
        if (status < 300) {
          output = true;
          tally.times.push(performance.now());
          if (input.do === 'add') tally.acknowledged.set(plant, owner);
        } else if (status < 500) output = false;
        else tally.failures.push({ at, answer: text });
      }
    } catch (error) {
      tally.failures.push({ at, answer: String((error as Error).cause ?? error) });
    }
    history.push({ input, output, called, returned: performance.now() });
  }
}

describe.runIf(HAS_MONGODB)('three instances, of which one writes', () => {
  const opened = new AsyncDisposableStack();
  let set: ReplicaSet;
  let instances: Instances;
  let store: Store;

  beforeAll(async () => {
    set = await ReplicaSet.start(3);
    opened.defer(() => set.remove());
    const MONGODB_URI = set.uri(`plantstore-${randomUUID()}`);
    instances = opened.use(await Instances.start(3, { MONGODB_URI }));
    store = opened.adopt(await openMongo(MONGODB_URI), (open) => open.close());
  }, 120_000);
  afterAll(() => opened.disposeAsync());

  /**
   * Lets clients go on while something happens, and until writes are acknowledged again for a while. Checks what they saw, and
   * returns it.
   */
  async function during(fault: (writer: number) => Promise<void>): Promise<Tally> {
    const writer = await instances.settled(`settler ${round}`);
    const owners = Array.from({ length: OWNERS }, () => `owner ${round++}`);
    const histories = new Map(owners.map((owner): [string, PlantOperation[]] => [owner, []]));
    const tally: Tally = { histories, acknowledged: new Map(), failures: [], times: [] };
    let running = true;
    const clients = owners.flatMap((owner) =>
      Array.from({ length: CLIENTS }, (_, number) =>
        client(instances, owner, `${owner}.${number}`, tally, () => running),
      ),
    );
    await sleep(200);
    const begun = performance.now();
    await fault(writer);
    const before = tally.times.length;
    while (tally.times.length < before + 20) await sleep(10);
    running = false;
    await Promise.all(clients);
    const times = [begun, ...tally.times.filter((time) => time > begun)];
    const gap = Math.max(...times.map((time, index) => time - (times[index - 1] ?? time)));
    console.log(`${tally.times.length} writes; longest time without one: ${gap.toFixed(0)} ms`);

    const log = await readLog(store);
    verifyLog(log);
    fold(log);
    const names = log.flatMap(({ event }) =>
      event.type === 'PlantAdded' && event.name !== 'settled' ? event.name : [],
    );
    expect(new Set(names).size).toBe(names.length);
    const added = new Set(names);
    for (const name of tally.acknowledged.keys()) expect(added).toContain(name);
    for (const history of histories.values()) expect(isLinearizable(plantsModel, history)).toBe(true);
    return tally;
  }

  const failuresNotAt = ({ failures }: Tally, victim: Service) => failures.filter(({ at }) => at !== victim);
  const other = (writer: number) => (writer + 1) % 3;
  const timeout = count(240_000, 600_000);

  test('the writer is killed: no request at the others fails, and another writes', { timeout }, async () => {
    for (let times = 0; times < count(1, 10); times++) {
      let victim: Service | undefined;
      const tally = await during(async (writer) => {
        victim = instances.services[writer]!;
        await victim.kill();
        await sleep(1_000);
        await instances.restart(writer);
      });
      expect(failuresNotAt(tally, victim!)).toEqual([]);
    }
  });

  test('the writer is frozen, and wakes: no request at the others fails', { timeout }, async () => {
    for (let times = 0; times < count(1, 10); times++) {
      let victim: Service | undefined;
      const tally = await during(async (writer) => {
        victim = instances.services[writer]!;
        process.kill(victim.pid, 'SIGSTOP');
        await sleep(4_500);
        process.kill(victim.pid, 'SIGCONT');
      });
      expect(failuresNotAt(tally, victim!)).toEqual([]);
    }
  });

  test('the links between them break, stall and go on: no request fails', { timeout }, async () => {
    const fates: readonly Fate[] = ['lose request', 'lose reply', 'stall'];
    for (let times = 0; times < count(1, 10); times++) {
      const { failures } = await during(async () => {
        for (const proxy of instances.proxies)
          proxy.fate = () => (Math.random() < 0.02 ? fates[Math.floor(Math.random() * fates.length)]! : 'forward');
        for (let step = 0; step < count(12, 40); step++) {
          await sleep(300);
          for (const proxy of instances.proxies) proxy.release();
        }
        for (const proxy of instances.proxies) {
          proxy.fate = () => 'forward';
          proxy.release();
        }
      });
      expect(failures).toEqual([]);
    }
  });

  test('one that cannot reach the writer writes itself, says so once, and forwards when it can again', {
    timeout,
  }, async () => {
    const { failures } = await during(async (writer) => {
      const proxy = instances.proxies[writer]!;
      proxy.fate = () => 'lose request';
      proxy.cut();
      await sleep(2_000);
      proxy.fate = () => 'forward';
    });
    expect(failures).toEqual([]);
    const writer = await instances.settled('settler');
    const lines = instances.services[other(writer)]!.logs.filter(({ msg }) => /cannot be reached/.test(String(msg)));
    expect(lines.length).toBeLessThanOrEqual(SOAK ? 100 : 8);
  });
});
