import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDevelopmentIssuer } from '../../../src/auth/development.ts';
import type { Effort } from '../compare.ts';
import { Attacker } from '../load/attack.ts';
import { ATTACKS, HARMLESS } from '../load/attacks.ts';
import { Bystander } from '../load/bystander.ts';
import { LoadGenerator } from '../load/generator.ts';
import { pin } from '../pin.ts';
import { ADD, FIRST_ID } from '../plants.ts';
import { type Checkout, checkoutsOf, type PlantStore, plantstore } from '../plantstore.ts';
import { attackLines, checkLines, type Seen, type Siege } from '../report/attacks.ts';
import type { Results } from '../report/report.ts';
import { Bench } from '../resources.ts';
import { CHECKS } from './attack-checks.ts';

/** Seconds of the harmless flood before anything is counted, of the harmless flood, of the attack, and after it. */
const SECONDS = { warmUp: 2, control: 6, attack: 15, after: 3 };
/** Milliseconds between two looks at the memory. */
const CHECK_INTERVAL = 50;
/** Plants of the bystander, and of the attacker. */
const PLANTS = 20;
/** As deploy/kubernetes sets it. */
const ENVIRONMENT = {
  NODE_OPTIONS: '--max-old-space-size=320 --max-semi-space-size=16 --v8-pool-size=1',
  LOG_LEVEL: 'info',
};

/**
 * Whether one caller can take the service from another: each attack on a service of its own, after a harmless flood of
 * it.
 */
export async function attacks(_: Bench, effort: Effort): Promise<Results> {
  const all = [...Object.keys(ATTACKS), ...Object.keys(CHECKS)];
  const unknown = effort.only.find((name) => !all.includes(name));
  if (unknown !== undefined) throw new Error(`there is no attack ${unknown}; there are ${all.join(', ')}`);
  for (const name of all.filter((one) => effort.only.length === 0 || effort.only.includes(one)))
    for (const checkout of checkoutsOf(effort)) {
      await using bench = new Bench();
      const check = CHECKS[name];
      console.log(`\n${name}, ${checkout.name}`);
      console.log(
        check === undefined
          ? attackLines(await besiege(bench, checkout, name))
          : checkLines(await check(bench, checkout)),
      );
    }
  return {};
}

async function besiege(bench: Bench, checkout: Checkout, name: string): Promise<Siege> {
  const directory = bench.directory();
  const server = await bench.server(plantstore(directory, ENVIRONMENT, checkout));
  const [attacker, bystander] = [new Attacker(), new Bystander('list')];
  // Of its own, so that no probe waits for its client to read a list.
  const supervisor = new Bystander('readyz', 'Health/Check', 'idle');
  for (const one of [attacker, bystander, supervisor]) bench.defer(() => one.stop());
  if (!pin(server.pid, [process.pid, attacker.pid, bystander.pid, supervisor.pid]))
    console.log('  the service had no core of its own');
  const idleUrl = await idleServer(bench);
  const [token, another] = await fill(bench, directory, server);
  const target = { port: portOf(server.url), grpcPort: portOf(`http://${server.grpcAddress}`), token };
  const { url, adminUrl, grpcAddress } = server;
  const watch = async (seconds: number): Promise<Seen> => {
    const job = { url, adminUrl, grpcAddress, idleUrl, token: another, seconds };
    const [caller, probes] = await Promise.all([bystander.watch(job), supervisor.watch(job)]);
    return { ...caller.asked, ...probes.asked, lateness: [caller.lateness, probes.lateness] };
  };

  await attacker.begin(HARMLESS, target);
  await watch(SECONDS.warmUp);
  const control = await watch(SECONDS.control);
  await attacker.end();

  const observed = observe(server);
  await attacker.begin(name, target);
  const seen = await watch(SECONDS.attack);
  const attacked = await attacker.end();
  // What the attack left behind may still end the process.
  await sleep(SECONDS.after * 1_000);
  return { ...observed(), control, seen, attacked };
}

/**
 * A server that has nothing else to do, on the core of the clients. Its answers show how late the supervisor itself is.
 */
async function idleServer(bench: Bench): Promise<string> {
  const server = createServer((_, response) => response.end('{}'));
  server.listen(0, '127.0.0.1');
  bench.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const portOf = (url: string): number => Number(new URL(url).port);

/** Gives two owners their plants, and returns their tokens. */
async function fill(bench: Bench, directory: string, { url }: PlantStore): Promise<[string, string]> {
  const load = new LoadGenerator();
  bench.defer(() => load.stop());
  const { mintToken } = await openDevelopmentIssuer(directory);
  const mint = (owner: string) => mintToken({ owner, ownerClaim: 'sub', ttl: 36_000 });
  const tokens: [string, string] = [await mint('attacker'), await mint('bystander')];
  const ids = { from: FIRST_ID, to: FIRST_ID + tokens.length * PLANTS };
  await load.run({ protocol: 'http', urls: [url], tokens, requests: [ADD], connections: 1, seconds: Infinity, ids });
  return tokens;
}

/** Looks at a process until the function that is returned is called. */
function observe(server: PlantStore): () => Pick<Siege, 'isAlive' | 'memory' | 'seconds' | 'cpu'> {
  const [start, before] = [performance.now(), server.cpu()];
  let [memory, cpu, seconds, isAlive] = [0, 0, 0, true];
  const look = () => {
    try {
      const resident = server.resident() / 2 ** 20;
      isAlive = resident > 0;
      if (!isAlive) return;
      memory = Math.max(memory, resident);
      cpu = (server.cpu() - before) / 1e6;
      seconds = (performance.now() - start) / 1_000;
    } catch {
      // Its folder in /proc is gone; while it ends, its memory is.
      isAlive = false;
    }
  };
  const timer = setInterval(look, CHECK_INTERVAL);
  return () => {
    look();
    clearInterval(timer);
    return { isAlive, memory, seconds, cpu: cpu / seconds };
  };
}
