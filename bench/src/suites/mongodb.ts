import { createPublicKey } from 'node:crypto';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { DEVELOPMENT_ISSUER } from '../../../src/auth/development.ts';
import { developmentKey } from '../../../src/auth/development-key.ts';
import { headAt, seal } from '../../../src/log/chain.ts';
import { EMPTY_HEAD } from '../../../src/log/event.ts';
import { openLog } from '../../../src/log/log.ts';
import { toEventDocument } from '../../../src/log/mongo/documents.ts';
import { openMongo } from '../../../src/log/mongo/open.ts';
import { ReplicaSet } from '../../../test/support/replica-set.ts';
import { compare, type Effort, type Side } from '../compare.ts';
import { load, type Round } from '../load.ts';
import { ADDED, adds } from '../plants.ts';
import { plantstore } from '../plantstore.ts';
import type { Bench } from '../resources.ts';
import { startServer } from '../server.ts';

const BATCH = 64;

/** Adds on a MongoDB replica set of one member beside plain Fastify + insertOne, and the commit path beside raw insertMany. */
export async function mongodb(bench: Bench, effort: Effort): Promise<void> {
  const set = await ReplicaSet.start(1);
  bench.defer(() => set.remove());
  await adding(bench, set, effort);
  await committing(bench, set, effort);
}

async function adding(bench: Bench, set: ReplicaSet, effort: Effort): Promise<void> {
  const directory = bench.directory();
  const { server: ours, token } = await bench.server(plantstore(directory, { MONGODB_URI: set.uri('ours') }));
  const bearer = token('adder');
  const jwk = createPublicKey(await developmentKey(directory)).export({ format: 'jwk' });
  const environment = {
    MONGODB_URI: set.uri('peer'),
    JWKS: JSON.stringify({ keys: [jwk] }),
    ISSUER: DEVELOPMENT_ISSUER,
  };
  const peer = join(import.meta.dirname, '../peers/fastify-mongodb.ts');
  const { server: plain } = await bench.server(
    startServer('Fastify + insertOne', [peer], environment, (line) => line).then((server) => ({ server })),
  );
  const add = adds(bearer);
  for (const connections of [1, 64, 256]) {
    const sides = [ours, plain].map((server): Side => {
      return { name: server.name, round: (seconds) => load(server, add, connections, seconds, ADDED) };
    });
    for (const side of sides) await side.round(1);
    await compare(`POST /plants, ${connections} connections, MongoDB, w: majority`, sides, effort);
  }
}

/** Counts what a piece of work does in some seconds in this process. */
async function counted(seconds: number, work: () => Promise<number>): Promise<Round> {
  const [before, start] = [process.cpuUsage(), performance.now()];
  const times: number[] = [];
  let done = 0;
  while (performance.now() - start < seconds * 1000) {
    const began = performance.now();
    done += await work();
    times.push(performance.now() - began);
  }
  const { user, system } = process.cpuUsage(before);
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)]!;
  return {
    rate: (done * 1000) / (performance.now() - start),
    p50: at(0.5),
    p99: at(0.99),
    cpu: (user + system) / done,
  };
}

async function committing(bench: Bench, set: ReplicaSet, effort: Effort): Promise<void> {
  const log = await openLog(await openMongo(set.uri('commits')), {
    onFault: (error) => {
      throw error;
    },
  });
  bench.defer(() => log.close());
  const client = await new MongoClient(set.uri('raw')).connect();
  bench.defer(() => client.close());
  const events = client.db().collection('events', { writeConcern: { w: 'majority', journal: true } });

  let [id, head] = [0n, EMPTY_HEAD];
  const plant = () => ({ id: id++, name: 'Monstera', tag: 'indoor' });
  const commit = async () => {
    const commands = Array.from({ length: BATCH }, () => {
      return log.submit({ type: 'AddPlant', owner: 'adder', actor: 'adder', plant: plant() });
    });
    return (await Promise.all(commands)).length;
  };
  const insert = async () => {
    const documents = Array.from({ length: BATCH }, () => {
      const { id: plantId, name, tag } = plant();
      const event = seal(
        head,
        { type: 'PlantAdded', owner: 'adder', actor: 'adder', plantId, name, tag },
        `${plantId}`,
        0,
      );
      head = headAt(event);
      return toEventDocument(event);
    });
    return (await events.insertMany(documents as never[])).insertedCount;
  };
  await compare(
    `Commit path, batches of ${BATCH} one after the other, MongoDB (p50, p99: of a batch)`,
    [
      { name: 'EventLog, projector running', round: (seconds) => counted(seconds, commit) },
      { name: 'raw insertMany', round: (seconds) => counted(seconds, insert) },
    ],
    effort,
  );
}
