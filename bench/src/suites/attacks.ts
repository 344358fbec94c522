import { setTimeout as sleep } from 'node:timers/promises';
import { openDevelopmentIssuer } from '../../../src/auth/development.ts';
import type { Effort } from '../compare.ts';
import { type Attacked, Attacker } from '../load/attack.ts';
import { ATTACKS, HARMLESS } from '../load/attacks.ts';
import { Bystander, type Seen } from '../load/bystander.ts';
import { LoadGenerator } from '../load/generator.ts';
import { pin } from '../pin.ts';
import { ADD, FIRST_ID } from '../plants.ts';
import { type Checkout, checkoutsOf, type PlantStore, plantstore } from '../plantstore.ts';
import { attackLines, checkLines } from '../report/attacks.ts';
import type { Results } from '../report/report.ts';
import { Bench } from '../resources.ts';
import { CHECKS } from './attack-checks.ts';

/** Seconds of the harmless flood before anything is counted, of the harmless flood, of the attack, and after it. */
const SECONDS = { warmUp: 2, control: 6, attack: 15, after: 3 };
/** Milliseconds between two looks at the memory. */
const LOOK = 50;
/** Plants of the bystander, and of the attacker. */
const PLANTS = 20;
/** As deploy/kubernetes sets it. */
const ENVIRONMENT = { NODE_OPTIONS: '--max-old-space-size=320 --max-semi-space-size=16', LOG_LEVEL: 'info' };

/** What an attack did to the service, and to somebody else. */
export interface Siege {
  readonly isAlive: boolean;
  /** Highest resident memory, in MiB. */
  readonly memory: number;
  /** What the bystander saw of the harmless flood of the same minute, and of the attack. */
  readonly control: Seen;
  readonly seen: Seen;
  /** Seconds from the begin of the attack until the end of the process, or until 3 s after the attack. */
  readonly seconds: number;
  /** CPU of the service in that time, as a share of one core. */
  readonly cpu: number;
  readonly attacked: Attacked;
}

/** Whether one caller can take the service from another: each attack on a service of its own, after a harmless flood of it. */
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
  const [attacker, bystander] = [new Attacker(), new Bystander()];
  bench.defer(() => attacker.stop());
  bench.defer(() => bystander.stop());
  if (!pin(server.pid, [process.pid, attacker.pid, bystander.pid])) console.log('  the service had no core of its own');
  const [token, another] = await fill(bench, directory, server);
  const target = { port: portOf(server.url), grpcPort: portOf(`http://${server.grpcAddress}`), token };
  const { url, adminUrl, grpcAddress } = server;
  const watch = (seconds: number) => bystander.watch({ url, adminUrl, grpcAddress, token: another, seconds });

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
  const timer = setInterval(look, LOOK);
  return () => {
    look();
    clearInterval(timer);
    return { isAlive, memory, seconds, cpu: cpu / seconds };
  };
}
