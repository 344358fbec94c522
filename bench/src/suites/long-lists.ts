import { randomUUID } from 'node:crypto';
import { get } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { credentials, Metadata, makeGenericClientConstructor } from '@grpc/grpc-js';
import { Long, MongoClient } from 'mongodb';
import { importLog } from '../../../src/audit/import.ts';
import { repairReadModel } from '../../../src/audit/repair.ts';
import { headAt, seal } from '../../../src/log/event/chain.ts';
import { EMPTY_HEAD, type LoggedEvent } from '../../../src/log/event/event.ts';
import { openMongo } from '../../../src/log/mongo/store.ts';
import { DATABASE_FILE, openSqlite } from '../../../src/log/sqlite/store.ts';
import { type Effort, median } from '../compare.ts';
import { STORES, type Store } from '../growth-side.ts';
import { FIRST_ID, listOf, newPlant } from '../plants.ts';
import { type PlantStore, plantstore } from '../plantstore.ts';
import type { Results } from '../report/report.ts';
import type { Bench } from '../resources.ts';
import { Scene } from '../scene.ts';

const OWNER = 'long list';
/** Plants in the list, unless the effort says fewer. */
const PLANTS = 1_000_000;
/** Events made, and rows read by the raw cursor, at once. */
const PAGE = 500;

const STREAM = '/plantstore.v1.PlantStoreService/StreamPlants';

/**
 * A list of a million plants over REST and gRPC beside the driver's cursor over the same rows, and the memory that it
 * takes.
 */
export async function longLists(bench: Bench, { events, rounds }: Effort): Promise<Results> {
  const plants = Math.min(PLANTS, events);
  const scene = await Scene.open(bench);
  for (const store of STORES) await measure(bench, scene, store, plants, rounds);
  return {};
}

async function measure(bench: Bench, scene: Scene, store: Store, plants: number, rounds: number): Promise<void> {
  const directory = bench.directory();
  const { MONGODB_URI = '', ...issuer } = scene.environment('long-lists');
  const opened = store === 'SQLite' ? openSqlite(directory) : await openMongo(MONGODB_URI);
  for await (const _ of importLog(opened, adds(plants)));
  for await (const _ of repairReadModel(opened));
  await opened.close();
  const server = await bench.server(plantstore(directory, store === 'SQLite' ? issuer : { ...issuer, MONGODB_URI }));
  const expected = Buffer.byteLength(JSON.stringify(listOf(plants)));
  const token = scene.token(OWNER);
  const streamed = await readGrpc(server, token);
  const works: Record<string, () => Promise<void>> = {
    'raw cursor': () => (store === 'SQLite' ? readSqlite(directory, plants) : readMongo(MONGODB_URI, plants)),
    'GET /plants': () => readRest(server, token, expected),
    StreamPlants: async () => expectAll(await readGrpc(server, token), streamed),
  };
  console.log(`\na list of ${plants.toLocaleString('en')} plants in ${store}, ${rounds} rounds in turns`);
  const rates = new Map<string, number[]>(Object.keys(works).map((name) => [name, []]));
  const idle = server.resident();
  const most = watch(bench, server);
  for (let round = -1; round < rounds; round++)
    for (const [name, read] of Object.entries(works)) {
      const started = performance.now();
      await read();
      if (round >= 0) rates.get(name)!.push(plants / ((performance.now() - started) / 1_000));
    }
  const raw = rates.get('raw cursor')!;
  for (const [name, all] of rates) {
    const ratio = median(all.map((rate, round) => rate / raw[round]!));
    console.log(`  ${name.padEnd(14)}${median(all).toFixed(0).padStart(9)} plants/s   ratio ${ratio.toFixed(2)}`);
  }
  console.log(`  memory of the service (RSS): ${mebibytes(idle)} MiB before, ${mebibytes(most())} MiB at most`);
  await server.stop();
}

async function* adds(count: number): AsyncGenerator<LoggedEvent[]> {
  let head = EMPTY_HEAD;
  const add = (number: number): LoggedEvent => {
    const { id: plantId, name, tag } = newPlant(FIRST_ID + number);
    const event = { type: 'PlantAdded' as const, owner: OWNER, actor: OWNER, plantId, name, tag };
    const sealed = seal(head, event, randomUUID(), Date.now());
    head = headAt(sealed);
    return sealed;
  };
  for (let from = 0; from < count; from += PAGE)
    yield Array.from({ length: Math.min(PAGE, count - from) }, (_, index) => add(from + index));
}

async function readRest(server: PlantStore, token: string, expected: number): Promise<void> {
  const bytes = await new Promise<number>((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    get(`${server.url}/plants`, { headers, agent: false }, (response) => {
      let received = 0;
      response.on('data', (chunk: Buffer) => {
        received += chunk.length;
      });
      response.on('end', () => resolve(response.statusCode === 200 ? received : -1)).on('error', reject);
    }).on('error', reject);
  });
  expectAll(bytes, expected);
}

/** Reads the stream and returns its bytes; nothing is decoded, as what a client does with messages is not ours. */
async function readGrpc(server: PlantStore, token: string): Promise<number> {
  const bytesOf = (bytes: Buffer) => bytes;
  const method = { path: STREAM, requestStream: false, responseStream: true };
  const Client = makeGenericClientConstructor(
    {
      stream: {
        ...method,
        requestSerialize: bytesOf,
        requestDeserialize: bytesOf,
        responseSerialize: bytesOf,
        responseDeserialize: bytesOf,
      },
    },
    '',
  );
  const client = new Client(server.grpcAddress, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  let received = 0;
  for await (const message of client.stream!(Buffer.alloc(0), metadata)) received += (message as Buffer).length;
  client.close();
  return received;
}

async function readSqlite(directory: string, plants: number): Promise<void> {
  const db = new DatabaseSync(join(directory, DATABASE_FILE), { readOnly: true });
  const page = db.prepare('SELECT * FROM plants WHERE owner = ? AND id > ? ORDER BY id LIMIT ?');
  page.setReadBigInts(true);
  let read = 0;
  for (let after = 0n; ; ) {
    const rows = page.all(OWNER, after, PAGE);
    if (rows.length === 0) break;
    read += rows.length;
    after = rows.at(-1)!.id as bigint;
  }
  db.close();
  expectAll(read, plants);
}

async function readMongo(uri: string, plants: number): Promise<void> {
  const client = new MongoClient(uri);
  const db = client.db();
  const id = (value: Long) => ({ owner: OWNER, id: value });
  const owned = { _id: { $gte: id(Long.MIN_VALUE), $lte: id(Long.MAX_VALUE) } };
  let read = 0;
  for await (const _ of db.collection<{ _id: { owner: string; id: Long } }>('plants').find(owned).sort({ _id: 1 }))
    read++;
  await client.close();
  expectAll(read, plants);
}

function expectAll(read: number, there: number): void {
  if (read !== there) throw new Error(`read ${read} of a list of ${there}`);
}

function watch(bench: Bench, server: PlantStore): () => number {
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, server.resident());
  }, 20);
  bench.defer(() => clearInterval(timer));
  return () => {
    clearInterval(timer);
    return most;
  };
}

const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);
