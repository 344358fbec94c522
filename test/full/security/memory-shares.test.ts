import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ListPlantsRequestSchema } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { EventStreamReader } from '../../support/event-stream.ts';
import { frame, rawSession, rawStream } from '../../support/raw-grpc.ts';
import { type Service, startService } from '../../support/service.ts';

const MIB = 1024 * 1024;
/** The smallest that is allowed. */
const MEMORY = 32 * MIB;
/** Events of MEMORY's share for watches that resume, and half as many again: each takes more than 2,000 bytes. */
const EVENTS = Math.ceil((1.5 * MEMORY) / 8 / 2_000);
const NAME = 'Fern '.repeat(100).trim();

let service: Service;
let headers: Record<string, string>;

beforeAll(async () => {
  // A busy machine must not refuse what fills the log, and no time limit end a connection in the place of the bound.
  const limits = { MAX_WAIT: '10000', REQUEST_TIMEOUT: '3600', IDLE_TIMEOUT: '3600', MAX_CONNECTIONS: '1000' };
  service = await startService({ MEMORY: `${MEMORY}`, ...limits });
  headers = { authorization: `Bearer ${await service.token('alice')}`, 'content-type': 'application/json' };
  await inParallel(EVENTS, async (id) => {
    const body = JSON.stringify({ id, name: NAME });
    const { status } = await fetch(`${service.url}/plants`, { method: 'POST', headers, body });
    expect(status).toBe(200);
  });
}, 120_000);

afterAll(() => service.stop());

/** Runs tasks 1 to `count`, some at once. */
async function inParallel(count: number, task: (number: number) => Promise<void>): Promise<void> {
  let next = 1;
  const work = async () => {
    while (next <= count) await task(next++);
  };
  await Promise.all(Array.from({ length: 32 }, work));
}

test('requests under way hold a quarter of it, and their connections end beyond', async () => {
  const { hostname, port } = new URL(service.url);
  const line = (number: number) => `x-header-${number}: ${'a'.repeat(110)}\r\n`;
  const unfinished = `GET / HTTP/1.1\r\nhost: a\r\n${Array.from({ length: 120 }, (_, number) => line(number)).join('')}`;
  const sockets: Socket[] = [];
  let ended = 0;
  let most = 0;
  try {
    // Each is counted with some 34 KB, so that all of them would hold 20 MB.
    for (let count = 0; count < 600; count++) {
      const socket = connect(Number(port), hostname).on('error', () => {});
      socket.on('close', () => ended++).write(unfinished);
      sockets.push(socket);
      await once(socket, 'connect');
      if (count % 20 === 0) most = Math.max(most, await service.metric('plantstore_requests_held_bytes'));
    }
    await expect
      .poll(() => service.metric('plantstore_requests_shed_total', { reason: 'memory' }))
      .toBeGreaterThan(100);
    await expect.poll(() => ended).toBeGreaterThan(100);
    expect(most).toBeLessThanOrEqual(MEMORY / 4);
    expect(most).toBeGreaterThan(MEMORY / 6);
    expect((await fetch(`${service.url}/plants/1`, { headers })).status).toBe(200);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

test('answers that nobody reads are part of that, also over gRPC', async () => {
  const session = rawSession(service.grpcUrl);
  const closed = new Promise((resolve) => session.once('close', resolve));
  const { authorization } = headers;
  const request = frame(toBinary(ListPlantsRequestSchema, create(ListPlantsRequestSchema, { limit: 1_000 })));
  // Each answer has a third of a mebibyte, of which the client's window lets 64 KiB pass.
  const ask = (count: number) => {
    for (let number = 0; number < count; number++) rawStream(session, { authorization }).end(request);
  };
  const held = () => service.metric('plantstore_requests_held_bytes');
  ask(16);
  await expect.poll(held).toBeGreaterThan(MEMORY / 8);
  ask(40);
  await closed;
  await expect.poll(held).toBeLessThan(MIB / 8);
});

test('remembered lists have a quarter of it', async () => {
  const lists = 100;
  await inParallel(lists, async (number) => {
    await (await fetch(`${service.url}/plants?limit=${200 + number}`, { headers })).arrayBuffer();
  });
  expect(await service.metric('plantstore_list_cache_entries')).toBeLessThan(lists / 2);
  const bytes = await service.metric('plantstore_list_cache_bytes');
  expect(bytes).toBeLessThanOrEqual(MEMORY / 4);
  expect(bytes).toBeGreaterThan(MEMORY / 6);
});

test('events for watches that resume have an eighth of it', async () => {
  const first = async (lastEventId: number) => {
    using stream = await EventStreamReader.open(service.url, { lastEventId: `${lastEventId}`, headers });
    const [event] = await stream.take(1);
    return event?.type;
  };
  expect(await first(1)).toBe('reset');
  expect(await first(Math.floor((3 * EVENTS) / 4))).toBe('added');
});

test('the tail has three eighths of it', async () => {
  // That the log refuses commands beyond its limit, the tests of the log show.
  expect(await service.metric('plantstore_tail_limit_bytes')).toBe((3 * MEMORY) / 8);
  await expect.poll(() => service.metric('plantstore_tail_bytes')).toBeLessThan(MEMORY / 8);
});
