import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import { expect, test } from 'vitest';
import { openMongo } from '../../src/log/mongo/open.ts';
import { HAS_MONGODB } from '../store/open-mongo.ts';
import { readLog, verifyLog } from '../support/fold.ts';
import { bearer, type GrpcClient, grpcClient, unary } from '../support/grpc.ts';
import { ReplicaSet } from '../support/replica-set.ts';
import { type Service, startService } from '../support/service.ts';
import { SOAK } from '../support/soak.ts';

const MINUTE = 60_000;
/** How long the load lasts; SOAK_MINUTES=60 makes it an hour. */
const DURATION = Number(process.env.SOAK_MINUTES ?? 5) * MINUTE;
/** The beginning, in which caches fill and code is compiled, is not measured. */
const WARM_UP = DURATION / 4;
const SAMPLE = 5_000;
const NODE_OPTIONS = `--max-old-space-size=128 --expose-gc --import=${fileURLToPath(new URL('../support/live-memory.ts', import.meta.url))}`;
/** Clients of each protocol on each instance; each keeps so many plants. */
const CLIENTS = 8;
const PLANTS = 50;

interface Sample {
  /** Minutes since the start. */
  readonly time: number;
  /** What is alive after a garbage collection. */
  readonly live: number;
  /** What the process has of the system's memory. */
  readonly resident: number;
  readonly descriptors: number;
}

/** Growth a minute by least squares. */
function slope(samples: readonly Sample[], of: (sample: Sample) => number): number {
  const mean = (value: (sample: Sample) => number) =>
    samples.reduce((sum, sample) => sum + value(sample), 0) / samples.length;
  const [time, value] = [mean((sample) => sample.time), mean(of)];
  const covariance = mean((sample) => (sample.time - time) * (of(sample) - value));
  return covariance / mean((sample) => (sample.time - time) ** 2);
}

const MEGABYTE = 1024 * 1024;

async function sampleOf(service: Service, start: number): Promise<Sample> {
  const before = service.output.length;
  process.kill(service.pid, 'SIGWINCH');
  let live: string | undefined;
  while (live === undefined) {
    await sleep(20);
    [, live] = /live memory: (\d+)\n/.exec(service.output.slice(before)) ?? [];
  }
  return {
    time: (performance.now() - start) / MINUTE,
    live: Number(live) / MEGABYTE,
    resident: Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))![1]) / 1024,
    descriptors: readdirSync(`/proc/${service.pid}/fd`).length,
  };
}

/** Adds, lists and deletes plants of an owner's own over REST, one call after the other. */
async function restClient(service: Service, token: string, agent: Agent, running: () => boolean): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const call = async (method: string, path: string, status: number, body?: string) => {
    const reply = await request(service.url + path, { method, headers, dispatcher: agent, ...(body && { body }) });
    expect([reply.statusCode, await reply.body.text()]).toEqual([status, expect.anything()]);
  };
  let calls = 0;
  for (let id = 0; running(); id++, calls += 3) {
    await call('POST', '/plants', 200, JSON.stringify({ id, name: `Fern ${id}`, tag: 'indoor' }));
    await call('GET', '/plants?limit=20', 200);
    if (id >= PLANTS) await call('DELETE', `/plants/${id - PLANTS}`, 204);
  }
  return calls;
}

/** The same over gRPC, and whole lists as streams. */
async function grpcLoad(grpc: GrpcClient, token: string, running: () => boolean): Promise<number> {
  const metadata = bearer(token);
  let calls = 0;
  for (let id = 0; running(); id++, calls += 3) {
    await unary(grpc, 'createPlant', { plant: { id: BigInt(id), name: `Fern ${id}` } }, metadata);
    await new Promise<void>((resolve, reject) =>
      grpc.streamPlants!({}, metadata).on('end', resolve).on('error', reject).resume(),
    );
    if (id >= PLANTS) await unary(grpc, 'deletePlant', { id: BigInt(id - PLANTS) }, metadata);
  }
  return calls;
}

test.runIf(SOAK && HAS_MONGODB)(
  'two instances under mixed load hold as much memory and as many descriptors at the end as at the beginning',
  async () => {
    const set = await ReplicaSet.start(1);
    const directory = mkdtempSync(join(tmpdir(), 'plantstore-soak-'));
    const agent = new Agent({ connections: CLIENTS });
    try {
      const uri = set.uri(`plantstore-${randomUUID()}`);
      const environment = { MONGODB_URI: uri, DATA_DIR: directory, NODE_OPTIONS };
      await using first = await startService(environment);
      await using second = await startService(environment);
      const services = [first, second];
      const grpcs = services.map(({ grpcUrl }) => grpcClient(grpcUrl));
      const start = performance.now();
      const running = () => performance.now() - start < DURATION;
      const samples = services.map((): Sample[] => []);
      const clients = services.flatMap((service, instance) =>
        Array.from({ length: CLIENTS }, async (_, number) => {
          const rest = restClient(service, await service.token(`rest ${instance} ${number}`), agent, running);
          const grpc = grpcLoad(grpcs[instance]!, await service.token(`grpc ${instance} ${number}`), running);
          return (await rest) + (await grpc);
        }),
      );
      const sampling = async () => {
        for (; running(); await sleep(SAMPLE))
          for (const [index, service] of services.entries()) samples[index]!.push(await sampleOf(service, start));
      };
      const [calls] = await Promise.all([Promise.all(clients), sampling()]);
      for (const [index, all] of samples.entries()) {
        const measured = all.filter(({ time }) => time * MINUTE >= WARM_UP);
        const [live, resident, descriptors] = (['live', 'resident', 'descriptors'] as const).map((of) => ({
          last: measured.at(-1)![of].toFixed(0),
          slope: slope(measured, (sample) => sample[of]),
        }));
        console.log(
          `instance ${index + 1}: ${live!.last} MB alive, ${live!.slope.toFixed(2)} more a minute; ` +
            `${resident!.last} MB resident, ${resident!.slope.toFixed(2)}; ` +
            `${descriptors!.last} descriptors, ${descriptors!.slope.toFixed(2)}`,
        );
        expect(live!.slope).toBeLessThan(1);
        expect(descriptors!.slope).toBeLessThan(1);
      }
      console.log(`${calls.reduce((sum, one) => sum + one, 0)} calls in ${DURATION / MINUTE} minutes`);
      const store = await openMongo(uri);
      verifyLog(await readLog(store));
      await store.close();
      for (const grpc of grpcs) grpc.close();
    } finally {
      await agent.close();
      await set.remove();
      rmSync(directory, { recursive: true });
    }
  },
  DURATION + 2 * MINUTE,
);
