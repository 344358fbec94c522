import { once } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http2';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { createClient } from '@connectrpc/connect';
import { type ClientReadableStream, type ServiceError, status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { PlantStoreService } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { fill } from '../../support/fill.ts';
import { bearer, endOf, type GrpcClient, grpcClient, unary } from '../../support/grpc.ts';
import { TRANSPORTS } from '../../support/protocols.ts';
import { frame, type RawEnd, rawCall, rawSession } from '../../support/raw-grpc.ts';
import { type Service, startService } from '../../support/service.ts';
import { count } from '../../support/soak.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const PLANTS = count(100_000, 1_000_000);
/** More than may be open at once. */
const CANCELLED_STREAMS = count(150, 1_000);

const directory = temporaryDirectory(afterAll);
let service: Service;
let token: string;
let alice: GrpcClient;
let bob: GrpcClient;
let bobs: string;

beforeAll(async () => {
  const store = openSqlite(directory);
  await fill(store, PLANTS, 'alice');
  await store.close();
  // So that thousands of calls at once are served on a slow machine too, and no time limit ends a connection instead.
  const limits = { MAX_WAIT: '30000', REQUEST_TIMEOUT: '3600', IDLE_TIMEOUT: '3600' };
  service = await startService({ DATA_DIR: directory, ...limits });
  [token, bobs] = await Promise.all([service.token('alice'), service.token('bob')]);
  [alice, bob] = [grpcClient(service.grpcUrl), grpcClient(service.grpcUrl)];
  await unary(bob, 'createPlant', { plant: { id: 1n, name: "Bob's" } }, bearer(bobs));
});
afterAll(async () => {
  expect(await service.stop()).toBe(0);
});

// Whatever one client did: the process lives, and another client is served.
afterEach(async () => {
  expect(service.exitCode).toBeNull();
  expect(await unary(bob, 'listPlants', {}, bearer(bobs))).toMatchObject({ plants: [{ name: "Bob's" }] });
});

const codeOf = (call: Promise<unknown>): Promise<number> =>
  call.then(
    () => status.OK,
    (error: ServiceError) => error.code,
  );

/** Plants in a whole stream. */
async function streamed(): Promise<number> {
  let plants = 0;
  const stream: ClientReadableStream<{ plants: unknown[] }> = alice.streamPlants!({}, bearer(token));
  stream.on('data', (message) => {
    plants += message.plants.length;
  });
  expect(await endOf(stream)).toBeUndefined();
  return plants;
}

test('a deadline of a millisecond: what was acknowledged is there, the rest is there or not, and nothing else', async () => {
  const carol = bearer(await service.token('carol'));
  const ids = Array.from({ length: 500 }, (_, id) => BigInt(id));
  const codes = await Promise.all(
    ids.map((id) =>
      codeOf(unary(alice, 'createPlant', { plant: { id, name: String(id) } }, carol, { deadline: Date.now() + 1 })),
    ),
  );
  expect(codes).toContain(status.DEADLINE_EXCEEDED);
  expect(codes.filter((code) => code !== status.OK && code !== status.DEADLINE_EXCEEDED)).toEqual([]);
  const { plants } = await unary<{ plants: { name: string }[] }>(alice, 'listPlants', {}, carol);
  const there = new Set(plants.map(({ name }) => name));
  expect(ids.filter((id, index) => codes[index] === status.OK && !there.has(String(id)))).toEqual([]);
  for (const id of ids) {
    const code = await codeOf(unary(alice, 'deletePlant', { id }, carol));
    expect(code).toBe(there.has(String(id)) ? status.OK : status.NOT_FOUND);
  }
});

test.each(TRANSPORTS)('streams cancelled in the middle over $name let go of what they read from', async ({ open }) => {
  const plants = createClient(PlantStoreService, open(service));
  const headers = { authorization: `Bearer ${token}` };
  for (let number = 0; number < CANCELLED_STREAMS; number++) {
    const controller = new AbortController();
    const { signal } = controller;
    const read = async () => {
      for await (const _ of plants.streamPlants({}, { headers, signal })) controller.abort();
    };
    await expect(read()).rejects.toThrow('canceled');
  }
  expect(await streamed()).toBe(PLANTS);
});

test('a client that stops to read is held a message, not a list', async () => {
  const before = service.residentMemory;
  const stalled = Array.from({ length: 32 }, () => {
    const stream: ClientReadableStream<unknown> = grpcClient(service.grpcUrl).streamPlants!({}, bearer(token));
    stream.on('error', () => {}).pause();
    return stream;
  });
  await Promise.all(stalled.map((stream) => once(stream, 'readable')));
  await sleep(500);
  expect(service.residentMemory - before).toBeLessThan(150);
  for (const stream of stalled) stream.cancel();
});

test('calls at once beyond all places are all answered', async () => {
  const calls = Array.from({ length: count(3_000, 10_000) }, () =>
    codeOf(unary(alice, 'listPlants', { limit: 1 }, bearer(token))),
  );
  const codes = await Promise.all(calls);
  expect(codes.filter((code) => code !== status.OK)).toEqual([]);
}, 120_000);

describe('calls that are written wrongly', () => {
  const LIST = Buffer.from([0x08, 0x01]);
  const MEGABYTE = 1024 * 1024;

  test.each<[string, Buffer, OutgoingHttpHeaders, RawEnd]>([
    ['right', frame(LIST), {}, { http: 200, status: 0 }],
    ['no message', Buffer.alloc(0), {}, { http: 200, status: 12 }],
    ['two messages', Buffer.concat([frame(LIST), frame(LIST)]), {}, { http: 200, status: 12 }],
    ['a message cut short', frame(LIST, { length: 10 }), {}, { http: 200, status: 12 }],
    ['half a prefix', Buffer.alloc(3), {}, { http: 200, status: 12 }],
    ['no protobuf', frame(Buffer.alloc(100, 0xff)), {}, { http: 200, status: 13 }],
    ['text that is not UTF-8', frame(Buffer.from([0x12, 0x01, 0xff])), {}, { http: 200, status: 13 }],
    ['a length of 4 GiB', frame(LIST, { length: 2 ** 32 - 1 }), {}, { http: 200, status: 8 }],
    ['a message above 64 KiB', frame(Buffer.alloc(64 * 1024 + 1)), {}, { http: 200, status: 8 }],
    ['an unknown compression', frame(LIST, { compressed: 1 }), { 'grpc-encoding': 'fern' }, { http: 200, status: 12 }],
    ['no gzip', frame(LIST, { compressed: 1 }), { 'grpc-encoding': 'gzip' }, { http: 200, status: 12 }],
    [
      'a gzip bomb',
      frame(gzipSync(Buffer.alloc(100 * MEGABYTE)), { compressed: 1 }),
      { 'grpc-encoding': 'gzip' },
      { http: 200, status: 12 },
    ],
    ['another content type', frame(LIST), { 'content-type': 'application/json' }, { http: 415 }],
    [
      'an unknown method',
      frame(LIST),
      { ':path': '/plantstore.v1.PlantStoreService/Water' },
      { http: 200, status: 12 },
    ],
    ['a path that is none', frame(LIST), { ':path': '/%00%' }, { http: 200, status: 12 }],
    ['a time limit that is none', frame(LIST), { 'grpc-timeout': 'soon' }, { http: 200, status: 13 }],
    ['a broken binary header', frame(LIST), { 'fern-bin': '%%%' }, { http: 200, status: 0 }],
  ])('%s', async (_, body, headers, end) => {
    const session = rawSession(service.grpcUrl);
    expect(await rawCall(session, { authorization: `Bearer ${token}`, ...headers }, body)).toEqual(end);
    session.destroy();
  });

  test('too much metadata', async () => {
    for (const [entries, size] of [
      [1, 70_000],
      [2_000, 10],
    ] as const) {
      const session = rawSession(service.grpcUrl);
      const metadata = Object.fromEntries(
        Array.from({ length: entries }, (_, index) => [`fern-${index}`, 'x'.repeat(size)]),
      );
      const { status: code } = await rawCall(session, { authorization: `Bearer ${token}`, ...metadata }, frame(LIST));
      expect(code).not.toBe(status.OK);
      session.destroy();
    }
  });

  test('16 KiB of metadata are served, and more are refused before anything is made of them', async () => {
    const session = rawSession(service.grpcUrl);
    const call = (size: number) =>
      rawCall(session, { authorization: `Bearer ${token}`, fern: Array(4).fill('x'.repeat(size)) }, frame(LIST));
    expect((await call(3_500)).status).toBe(status.OK);
    expect((await call(4_100)).status).toBe(status.RESOURCE_EXHAUSTED);
    session.destroy();
  });
});

test.each([
  ['HTTP/1.1', 'GET / HTTP/1.1\r\nHost: plants\r\n\r\n'],
  ['TLS', Buffer.from('16030100c4010000c00303', 'hex')],
  ['noise', Buffer.from(Array.from({ length: 10_000 }, (_, index) => (index * 7919) % 251))],
  ['the preface, then noise', `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${'fern'.repeat(5_000)}`],
  [
    'a frame of 16 MiB',
    Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), Buffer.from('ffffff040000000000', 'hex')]),
  ],
])('bytes that are no gRPC close their connection: %s', async (_, bytes) => {
  const [host, port] = service.grpcUrl.split(':');
  const socket = connect(Number(port), host);
  socket.on('error', () => {}).resume();
  socket.end(bytes);
  await once(socket, 'close');
});
