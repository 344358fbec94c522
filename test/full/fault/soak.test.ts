import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { expect, test } from 'vitest';
import { openMongo } from '../../../src/log/mongo/store.ts';
import { HAS_MONGODB } from '../../store/open-mongo.ts';
import { readLog, verifyLog } from '../../support/fold.ts';
import { bearer, type GrpcClient, grpcClient, unary } from '../../support/grpc.ts';
import { Kafka } from '../../support/kafka.ts';
import { findKafka } from '../../support/kafka-library.ts';
import { eachRecord } from '../../support/kafka-records.ts';
import { kafkaOptions } from '../../support/publication.ts';
import { ReplicaSet } from '../../support/replica-set.ts';
import { plantstore } from '../../support/run.ts';
import { type Service, startService } from '../../support/service.ts';
import { SOAK } from '../../support/soak.ts';
import { reaches } from '../publisher/outcome.ts';

const MINUTE = 60_000;
/** How long the load lasts; SOAK_MINUTES=60 makes it an hour. */
const DURATION = Number(process.env.SOAK_MINUTES ?? 5) * MINUTE;
/** The beginning, in which connections are opened. */
const WARM_UP = DURATION / 4;
/** Milliseconds after which lines of the log are forgotten. */
const SAMPLE = 5_000;
/** Lines of each instance that are kept: those of its start. */
const LINES = 20;
/** Clients of each protocol on each instance; each keeps so many plants. */
const CLIENTS = 8;
/**
 * More descriptors than after the warm-up that a service may have: MongoDB's pool keeps a connection for each of the
 * most calls at once.
 */
const SPARE_DESCRIPTORS = 2 * CLIENTS;
const PLANTS = 50;
const LIMIT = 20;

/** As docs/operations.md recommends, and less of the old generation, so that a leak ends the service. */
const HEAP = '--max-old-space-size=128 --max-semi-space-size=16';

const classPath = SOAK ? await findKafka() : undefined;

const descriptorsOf = ({ pid }: Service): number => readdirSync(`/proc/${pid}/fd`).length;

/** What a client that adds 0, 1, 2, ... has after `id`, before it deletes the oldest. */
const plantsAt = (id: number) => {
  const first = Math.max(0, id - PLANTS);
  return Array.from({ length: id - first + 1 }, (_, index) => ({ name: `Fern ${first + index}` }));
};

/**
 * Adds, lists and deletes plants of an owner's own over REST, one call after the other; what it adds here it lists
 * there.
 */
async function restLoad(
  [here, there]: readonly [Service, Service],
  token: string,
  agent: Agent,
  running: () => boolean,
): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const call = async (method: string, url: string, answer: readonly [number, string], body?: string) => {
    const reply = await request(url, { method, headers, dispatcher: agent, ...(body && { body }) });
    expect([reply.statusCode, await reply.body.text()]).toEqual(answer);
  };
  let calls = 0;
  for (let id = 0; running(); id++, calls += 3) {
    const plant = { name: `Fern ${id}` };
    await call('POST', `${here.url}/plants`, [200, JSON.stringify(plant)], JSON.stringify({ id, ...plant }));
    const listed = JSON.stringify(plantsAt(id).slice(0, LIMIT));
    await call('GET', `${there.url}/plants?limit=${LIMIT}`, [200, listed]);
    if (id >= PLANTS) await call('DELETE', `${here.url}/plants/${id - PLANTS}`, [204, '']);
  }
  return calls;
}

/** The same over gRPC, and whole lists as streams. */
async function grpcLoad(
  [here, there]: readonly [GrpcClient, GrpcClient],
  token: string,
  running: () => boolean,
): Promise<number> {
  const metadata = bearer(token);
  let calls = 0;
  for (let id = 0; running(); id++, calls += 3) {
    await unary(here, 'createPlant', { plant: { id: BigInt(id), name: `Fern ${id}` } }, metadata);
    const names: string[] = [];
    await new Promise<void>((resolve, reject) =>
      there.streamPlants!({}, metadata)
        .on('data', ({ plants }: { plants: readonly { name: string }[] }) =>
          names.push(...plants.map(({ name }) => name)),
        )
        .on('end', resolve)
        .on('error', reject),
    );
    expect(names).toEqual(plantsAt(id).map(({ name }) => name));
    if (id >= PLANTS) await unary(here, 'deletePlant', { id: BigInt(id - PLANTS) }, metadata);
  }
  return calls;
}

/** Whether a topic holds the positions 1 to `end`, each once, and each partition in order. */
async function expectEachOnce(kafka: Kafka, topic: string, end: number): Promise<void> {
  const seen = new Uint8Array(end + 1);
  const last = new Map<number, number>();
  await eachRecord(kafka, topic, ({ partition, headers }) => {
    const position = Number(headers['plantstore-position']);
    if (position <= (last.get(partition) ?? 0)) throw new Error(`${position} is out of order`);
    last.set(partition, position);
    seen[position]!++;
  });
  expect(seen.findIndex((times, position) => position > 0 && times !== 1)).toBe(-1);
}

test.runIf(SOAK && HAS_MONGODB && classPath !== undefined)(
  'two instances under mixed load, which Kafka gets all of, hold as much at the end as at the beginning',
  async () => {
    await using stack = new AsyncDisposableStack();
    const set = await ReplicaSet.start(1);
    stack.defer(() => set.remove());
    const kafka = stack.use(await Kafka.start(classPath!));
    const directory = mkdtempSync(join(tmpdir(), 'plantstore-soak-'));
    stack.defer(async () => rmSync(directory, { recursive: true }));
    const agent = stack.adopt(new Agent({ connections: CLIENTS }), (open) => open.close());
    const uri = set.uri(`plantstore-${randomUUID()}`);
    const topic = `soak-${randomUUID()}`;
    const environment = {
      MONGODB_URI: uri,
      DATA_DIR: directory,
      KAFKA_BROKERS: kafka.brokers.join(),
      KAFKA_TOPIC: topic,
      KAFKA_PARTITIONS: '3',
      // A machine that is busy with other tests makes a request wait, and not fail.
      MAX_WAIT: '20000',
    };
    const start = async () => stack.use(await startService({ ...environment, NODE_OPTIONS: HEAP }));
    const services = [await start(), await start()] as const;
    const grpcs = services.map(({ grpcUrl }) => stack.adopt(grpcClient(grpcUrl), (client) => client.close()));

    const began = performance.now();
    const running = () => performance.now() - began < DURATION;
    const clients = [0, 1].flatMap((here) =>
      Array.from({ length: CLIENTS }, async (_, number) => {
        const [first, second] = [services[here]!, services[1 - here]!];
        const rest = restLoad([first, second], await first.token(`rest ${here} ${number}`), agent, running);
        const grpc = grpcLoad([grpcs[here]!, grpcs[1 - here]!], await first.token(`grpc ${here} ${number}`), running);
        const calls = await Promise.all([rest, grpc]);
        return calls[0] + calls[1];
      }),
    );
    const trimming = async () => {
      for (; running(); await sleep(SAMPLE)) for (const { logs } of services) logs.splice(LINES);
    };
    const warmUp = sleep(WARM_UP).then(() => services.map(descriptorsOf));
    const [calls, before] = await Promise.all([Promise.all(clients), warmUp, trimming()]);
    console.log(`${calls.reduce((sum, one) => sum + one, 0)} calls in ${DURATION / MINUTE} minutes`);
    for (const [index, service] of services.entries())
      expect(descriptorsOf(service)).toBeLessThanOrEqual(before[index]! + SPARE_DESCRIPTORS);
    const store = stack.adopt(await openMongo(uri), (open) => open.close());
    const log = await readLog(store);
    verifyLog(log);
    await reaches(kafkaOptions(kafka.brokers, topic), log.length);
    await expectEachOnce(kafka, topic, log.length);
    expect(await plantstore(['audit', 'verify'], environment)).toMatchObject({ code: 0, stderr: '' });
  },
  DURATION + 4 * MINUTE,
);
