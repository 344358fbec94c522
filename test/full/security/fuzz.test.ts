import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { fold, readLog, verifyLog } from '../../support/fold.ts';
import { bearer, grpcClient, unary } from '../../support/grpc.ts';
import { client } from '../../support/http.ts';
import { plantstore } from '../../support/run.ts';
import { type Service, startService } from '../../support/service.ts';
import { count } from '../../support/soak.ts';
import { framesArbitrary } from './fuzz/frames.ts';
import { type Acknowledged, judge } from './fuzz/judge.ts';
import { httpArbitrary } from './fuzz/requests.ts';
import { exchangeBytes } from './fuzz/socket.ts';

/** Requests that are in flight together. */
const TOGETHER = 100;
/** Requests of each kind. */
const HTTP_REQUESTS = count(2_000, 60_000);
const RAW_CONNECTIONS = count(400, 10_000);

const OWNERS = ['alice', 'bob'];

let service: Service;
let tokens: string[];
/** File descriptors before any request. */
let descriptors: number;
const acknowledged: Acknowledged[] = [];

beforeAll(async () => {
  // A heap in which what every request left behind would not fit.
  service = await startService({ NODE_OPTIONS: '--max-old-space-size=128' });
  tokens = await Promise.all([
    ...OWNERS.map((owner) => service.token(owner)),
    service.token('auditor', 'plants:audit'),
  ]);
  await Promise.all(OWNERS.map((_, index) => client(service.url, tokens[index])('GET', '/plants')));
  descriptors = openDescriptors();
});
afterAll(async () => {
  expect(await service.stop()).toBe(0);
});

const openDescriptors = () => readdirSync(`/proc/${service.pid}/fd`).length;
/** Whether no request has a permit, waits, or holds memory. */
async function isIdle(): Promise<boolean> {
  const metrics = await service.metrics();
  return ['in_flight', 'waiting', 'held_bytes'].every(
    (name) => metrics.get(`plantstore_requests_${name}`)!.samples[0]!.value === 0,
  );
}

/** Sends so many generated requests, so many together, and collects what they acknowledge. */
async function fuzz<Request>(
  requests: number,
  arbitrary: fc.Arbitrary<Request>,
  send: (request: Request) => Promise<Acknowledged | undefined>,
): Promise<void> {
  const batch = fc.array(arbitrary, { minLength: 1, maxLength: TOGETHER, size: 'max' });
  const property = fc.asyncProperty(batch, async (together) => {
    const lines = service.logs.length;
    const found = await Promise.all(together.map(send));
    acknowledged.push(...found.filter((write) => write !== undefined));
    expect(service.exitCode).toBeNull();
    expect(service.logs.slice(lines).filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
  });
  await fc.assert(property, { numRuns: Math.ceil((2 * requests) / TOGETHER) });
}

afterEach(async () => {
  expect(service.exitCode).toBeNull();
  expect((await client(service.url, tokens[0])('GET', '/plants?limit=1')).status).toBe(200);
  const grpc = grpcClient(service.grpcUrl);
  await unary(grpc, 'listPlants', { limit: 1 }, bearer(tokens[0]!));
  grpc.close();
  // No place stays taken.
  while (!(await isIdle())) await sleep(50);
  // Nothing stays open of a connection that has ended; what this client still has open ends by and by.
  while (openDescriptors() > descriptors + 5) await sleep(50);
  console.log(`${acknowledged.length} writes acknowledged, ${service.residentMemory.toFixed(0)} MB resident`);
});

test('REST and Connect: whatever is sent gets an answer of the contract', async () => {
  await fuzz(HTTP_REQUESTS, httpArbitrary(tokens), async (request) => {
    const bytes = await exchangeBytes(service.url, Buffer.from(request.text, 'latin1'), { endsItself: request.whole });
    return judge(request, bytes);
  });
  expect(acknowledged.length).toBeGreaterThan(HTTP_REQUESTS / 400);
}, 3_600_000);

// Over gRPC, test/full/fault/grpc.test.ts has what is written wrongly.
test('bytes on either port: the connection ends', async () => {
  const bytes = fc.oneof(framesArbitrary, fc.uint8Array({ maxLength: 256 }).map(Buffer.from));
  await fuzz(RAW_CONNECTIONS, fc.tuple(bytes, fc.boolean()), async ([sent, isGrpc]) => {
    const url = isGrpc ? `http://${service.grpcUrl}` : service.url;
    await exchangeBytes(url, sent, { endsItself: false });
    return undefined;
  });
}, 3_600_000);

test('the log has exactly what was acknowledged, verifies, and is what every list shows', async () => {
  expect(await plantstore(['audit', 'verify'], { DATA_DIR: service.dataDirectory })).toMatchObject({ code: 0 });
  const store = openSqlite(service.dataDirectory, { readOnly: true });
  const events = await readLog(store);
  await store.close();
  verifyLog(events);
  const first = acknowledged.filter(({ isReplay }) => !isReplay);
  expect(new Set(first.map(({ position }) => position)).size).toBe(first.length);
  for (const { position, plant } of acknowledged) {
    const { event } = events[position - 1]!;
    if (plant === undefined) expect(event.type).toBe('PlantDeleted');
    else expect(event).toMatchObject({ type: 'PlantAdded', name: plant.name, tag: plant.tag });
  }
  const grpc = grpcClient(service.grpcUrl);
  for (const [index, owner] of OWNERS.entries()) {
    const plants = (fold(events).get(owner) ?? []).map(({ name, tag }) =>
      tag === undefined ? { name } : { name, tag },
    );
    const { text } = await client(service.url, tokens[index])('GET', '/plants');
    expect(JSON.parse(text)).toEqual(plants);
    const listed = await unary<{ plants: object[] }>(grpc, 'listPlants', {}, bearer(tokens[index]!));
    expect(listed.plants).toMatchObject(plants.slice(0, listed.plants.length));
  }
  grpc.close();
});
