import type { OutgoingHttpHeaders } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { createClient } from '@connectrpc/connect';
import { type ClientReadableStream, status } from '@grpc/grpc-js';
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

const PLANTS = 20_000;
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

describe('calls that are written wrongly', () => {
  const LIST = Buffer.from([0x08, 0x01]);
  const MEGABYTE = 1024 * 1024;
  const MALFORMED = { http: 200, status: 3, details: expect.any(Buffer) };

  test.each<[string, Buffer, OutgoingHttpHeaders, RawEnd]>([
    ['right', frame(LIST), {}, { http: 200, status: 0 }],
    ['no message', Buffer.alloc(0), {}, { http: 200, status: 12 }],
    ['two messages', Buffer.concat([frame(LIST), frame(LIST)]), {}, { http: 200, status: 12 }],
    ['a message cut short', frame(LIST, { length: 10 }), {}, { http: 200, status: 12 }],
    ['half a prefix', Buffer.alloc(3), {}, { http: 200, status: 12 }],
    ['no protobuf', frame(Buffer.alloc(100, 0xff)), {}, MALFORMED],
    ['text that is not UTF-8', frame(Buffer.from([0x12, 0x01, 0xff])), {}, MALFORMED],
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
    ['a time limit that is none', frame(LIST), { 'grpc-timeout': 'soon' }, { http: 200, status: 3 }],
    ['a broken binary header', frame(LIST), { 'fern-bin': '%%%' }, { http: 200, status: 0 }],
  ])('%s', async (_, body, headers, end) => {
    const session = rawSession(service.grpcUrl);
    expect(await rawCall(session, { authorization: `Bearer ${token}`, ...headers }, body)).toEqual(end);
    session.destroy();
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
