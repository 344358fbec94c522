import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { MongoClient } from 'mongodb';
import { plantsAsOf } from '../../../src/audit/fold/as-of.ts';
import { FORMATS } from '../../../src/audit/formats/formats.ts';
import { importLog } from '../../../src/audit/import.ts';
import { repairReadModel } from '../../../src/audit/repair.ts';
import { verifyLog } from '../../../src/audit/verify.ts';
import { openMongo } from '../../../src/log/mongo/store.ts';
import { DATABASE_FILE, openSqlite } from '../../../src/log/sqlite/store.ts';
import type { Store } from '../../../src/log/store.ts';
import { ReplicaSet } from '../../../test/support/replica-set.ts';
import { type Effort, median } from '../compare.ts';
import { history } from '../history.ts';
import type { Results } from '../report/report.ts';
import type { Bench } from '../resources.ts';

const EVENTS = 1_000_000;
const OWNERS = 1_000;
/** Rows read at once. */
const PAGE = 500;

/**
 * What the audit does with a million events in each store, beside the driver's cursor over the same rows or documents.
 */
export async function audit(bench: Bench, effort: Effort): Promise<Results> {
  const directory = bench.directory();
  await measure(bench, 'SQLite', openSqlite(directory), () => readSqlite(directory), effort);
  const set = await ReplicaSet.start(1);
  bench.defer(() => set.remove());
  await measure(bench, 'MongoDB', await openMongo(set.uri('audit')), () => readMongo(set.uri('audit')), effort);
  return {};
}

async function measure(
  bench: Bench,
  name: string,
  store: Store,
  readRaw: () => Promise<void>,
  { rounds }: Effort,
): Promise<void> {
  bench.defer(() => store.close());
  console.log(`\naudit of ${EVENTS.toLocaleString('en')} events in ${name}, ${rounds} rounds in turns`);
  console.log(
    `  import, with the events made: ${(await rate(() => drain(importLog(store, history(EVENTS, OWNERS))))).toFixed(0)}/s`,
  );
  const work: Record<string, () => Promise<void>> = {
    'raw cursor': readRaw,
    'export, NDJSON': () => drain(encoded(store, 'ndjson')),
    'export, protobuf': () => drain(encoded(store, 'protobuf')),
    verify: () => drain(verifyLog(store)),
    'list of one owner as of now': async () => drain((await plantsAsOf(store, undefined, 'owner 7')).plants),
    'list of all owners as of now': async () => drain((await plantsAsOf(store, undefined, undefined)).plants),
    rebuild: () => drain(repairReadModel(store)),
  };
  const rates = new Map<string, number[]>(Object.keys(work).map((each) => [each, []]));
  const most = watchMemory(bench);
  for (let round = 0; round < rounds; round++)
    for (const [each, run] of Object.entries(work)) rates.get(each)!.push(await rate(run));
  const raw = rates.get('raw cursor')!;
  for (const [each, all] of rates) {
    const ratio = median(all.map((figure, round) => figure / raw[round]!));
    console.log(`  ${each.padEnd(34)}${median(all).toFixed(0).padStart(8)}/s   ratio ${ratio.toFixed(2)}`);
  }
  console.log(`  most memory of the process (RSS): ${most().toFixed(0)} MB`);
}

async function* encoded(store: Store, format: keyof typeof FORMATS): AsyncGenerator<string | Uint8Array> {
  for await (const batch of store.read(0)) yield FORMATS[format].encode(batch);
}

async function readSqlite(directory: string): Promise<void> {
  const db = new DatabaseSync(join(directory, DATABASE_FILE), { readOnly: true });
  const page = db.prepare('SELECT * FROM events WHERE position > ? ORDER BY position LIMIT ?');
  page.setReadBigInts(true);
  for (let after = 0n; ; ) {
    const rows = page.all(after, PAGE);
    if (rows.length === 0) break;
    after = rows.at(-1)!.position as bigint;
  }
  db.close();
}

async function readMongo(uri: string): Promise<void> {
  const client = new MongoClient(uri);
  await drain(client.db().collection('events').find().sort({ _id: 1 }));
  await client.close();
}

async function drain(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

async function rate(run: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await run();
  return EVENTS / ((performance.now() - started) / 1_000);
}

function watchMemory(bench: Bench): () => number {
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 20);
  bench.defer(() => clearInterval(timer));
  return () => most / 1e6;
}
