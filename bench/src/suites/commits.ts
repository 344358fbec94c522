import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { headAt, seal } from '../../../src/log/event/chain.ts';
import { EMPTY_HEAD } from '../../../src/log/event/event.ts';
import { openLog } from '../../../src/log/log.ts';
import { toEventDocument } from '../../../src/log/mongo/documents.ts';
import { openMongo } from '../../../src/log/mongo/store.ts';
import { ReplicaSet } from '../../../test/support/replica-set.ts';
import { compare, type Effort, type Measured, type Side } from '../compare.ts';
import { Stopwatch } from '../load/sample.ts';
import { FIRST_ID, newPlant } from '../plants.ts';
import type { Results } from '../report/report.ts';
import type { Bench } from '../resources.ts';
import { LOG_WORKS, OURS } from '../works.ts';

const BATCH = 64;

/** The commit path beside raw insertMany, and replay beside a raw cursor over the same documents. */
export async function commits(bench: Bench, effort: Effort): Promise<Results> {
  const set = await ReplicaSet.start(1);
  bench.defer(() => set.remove());
  const uri = set.uri('plantstore');
  const store = await openMongo(uri);
  const log = await openLog(store, {
    onFault: (error) => {
      throw error;
    },
  });
  bench.defer(() => log.close());
  const client = await new MongoClient(uri).connect();
  bench.defer(() => client.close());

  let id = FIRST_ID;
  const commit = async () => {
    const commands = Array.from({ length: BATCH }, () =>
      log.submit({ type: 'AddPlant', owner: 'adder', actor: 'adder', plant: newPlant(id++) }),
    );
    return (await Promise.all(commands)).length;
  };
  const ours: Side = {
    name: OURS,
    run: async (work, seconds) => {
      if (work === LOG_WORKS.replay) return counted(seconds, () => size(log.read(0)));
      const measured = await counted(seconds, commit);
      while ((await store.checkpoint()) < (await store.head()).position) await sleep(10);
      return measured;
    },
  };
  const events = client.db().collection('events');
  const insert = inserts(client);
  const raw: Side = {
    name: 'raw driver',
    run: (work, seconds) =>
      counted(seconds, work === LOG_WORKS.replay ? () => size(events.find().sort({ _id: 1 })) : insert),
  };
  return { comparison: await compare(Object.values(LOG_WORKS), [ours, raw], effort) };
}

/** Inserts of the documents that the same commands become, made as the log makes them. */
function inserts(client: MongoClient): () => Promise<number> {
  const raw = client.db().collection('raw', { writeConcern: { w: 'majority', journal: true } });
  let head = EMPTY_HEAD;
  return async () => {
    const documents = Array.from({ length: BATCH }, () => {
      const { id: plantId, name, tag } = newPlant(FIRST_ID + head.position);
      const about = { owner: 'adder', actor: 'adder', plantId };
      const event = seal(head, { type: 'PlantAdded', ...about, name, tag }, randomUUID(), Date.now());
      head = headAt(event);
      return toEventDocument(event);
    });
    return (await raw.insertMany(documents as never[])).insertedCount;
  };
}

/** How many items there are: events in pages, or documents. */
async function size(items: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const item of items) count += Array.isArray(item) ? item.length : 1;
  return count;
}

/** Does a piece of work again and again in this process; it says how much it did. */
async function counted(seconds: number, work: () => Promise<number>): Promise<Measured> {
  const before = process.cpuUsage();
  const stopwatch = new Stopwatch();
  while (!stopwatch.isOver(seconds)) {
    const since = performance.now();
    stopwatch.done(since, await work());
  }
  const sample = stopwatch.sample();
  const { user, system } = process.cpuUsage(before);
  const cpu = (user + system) / sample.count;
  return { ...sample, service: cpu, cpu, client: 0 };
}
