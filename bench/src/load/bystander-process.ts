import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { frame, rawCall, rawSession } from '../../../test/support/raw-grpc.ts';
import type { Asked, BystanderJob, Kind, Seen } from './bystander.ts';
import { quantiles } from './sample.ts';

/** Requests of each kind a second. */
const RATE = 10;
/** Milliseconds after which a request has failed. */
const PATIENCE = 5_000;
const EMPTY = frame(Buffer.alloc(0));

const lateness: number[] = [];

/** Makes one request. Rejects with the reason when it does not succeed. */
type Ask = () => Promise<void>;

async function watch(job: BystanderJob): Promise<Seen> {
  lateness.length = 0;
  const agent = new Agent({ keepAlive: true });
  const header = { authorization: `Bearer ${job.token}` };
  // Supervisors connect anew for each probe. Node accepts one connection of a port in each turn of the event loop.
  const asks: Readonly<Record<Kind, Ask>> = {
    list: () => get(`${job.url}/plants`, agent, header),
    readyz: () => get(`${job.adminUrl}/readyz`, false),
    'Health/Check': () => check(job.grpcAddress),
    idle: () => get(job.idleUrl, false),
  };
  const offset = 1_000 / RATE / job.kinds.length;
  const start = performance.now();
  const asked = await Promise.all(
    job.kinds.map(async (kind, index) => [kind, await askEvenly(asks[kind], start + index * offset, job.seconds)]),
  );
  agent.destroy();
  return { asked: Object.fromEntries(asked), lateness: quantiles(lateness) };
}

/** Asks at an even rate, whatever became of the requests before. */
async function askEvenly(ask: Ask, start: number, seconds: number): Promise<Asked> {
  const [times, failures]: [number[], Record<string, number>] = [[], {}];
  let served = 0;
  const one = async (due: number) => {
    try {
      await ask();
      times.push(performance.now() - due);
      served++;
    } catch (error) {
      times.push(PATIENCE);
      const why = reasonOf(error as Failure);
      failures[why] = (failures[why] ?? 0) + 1;
    }
  };
  const all: Promise<void>[] = [];
  for (let number = 0; number < seconds * RATE; number++) {
    const due = start + (number / RATE) * 1_000;
    await sleep(Math.max(due - performance.now(), 0));
    lateness.push(performance.now() - due);
    all.push(one(due));
  }
  await Promise.all(all);
  return { served: served / all.length, latency: quantiles(times), failures };
}

type Failure = Error & { readonly code?: string };

const reasonOf = ({ name, message, code }: Failure): string =>
  name === 'AbortError' ? 'no answer' : (code ?? message);

async function get(url: string, agent: Agent | false, headers: Record<string, string> = {}): Promise<void> {
  const call = request(url, { agent, headers, signal: AbortSignal.timeout(PATIENCE) }).end();
  const [answer] = await once(call, 'response');
  await text(answer);
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}`);
}

/** With as little of a client as can be: a library's channel takes longer than a healthy answer. */
async function check(address: string): Promise<void> {
  const session = rawSession(address);
  const timer = setTimeout(() => session.destroy(), PATIENCE);
  const { status, reset } = await rawCall(session, { ':path': '/grpc.health.v1.Health/Check' }, EMPTY);
  clearTimeout(timer);
  session.destroy();
  if (status !== 0) throw new Error(status === undefined ? `no answer (${reset})` : `gRPC ${status}`);
}

/** The process of the bystander: does what its parent sends, one thing at a time. */
process.on('message', async (job: BystanderJob) => {
  process.send!({ done: await watch(job) });
});
process.on('disconnect', () => process.exit(0));
