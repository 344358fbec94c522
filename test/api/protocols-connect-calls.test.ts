import { once } from 'node:events';
import { connect } from 'node:net';
import { create } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { describe, expect, test, vi } from 'vitest';
import {
  ListPlantsResponseSchema,
  PlantStoreService,
  StreamPlantsResponseSchema,
  type WatchPlantsRequest,
  WatchPlantsResponseSchema,
} from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import type { StreamingCall } from '../../src/call.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import { client } from '../support/http.ts';
import { HttpApp } from '../support/http-app.ts';
import { callErrorOf } from '../support/protocols.ts';

const LIST = '/plantstore.v1.PlantStoreService/ListPlants';
const STREAM = '/plantstore.v1.PlantStoreService/StreamPlants';
const WATCH = '/plantstore.v1.PlantStoreService/WatchPlants';
/** `{}` as the one message of a stream. */
const ENVELOPE = Buffer.from([0, 0, 0, 0, 2, 0x7b, 0x7d]);

const untilAborted = async (_request: never, { signal }: StreamingCall): Promise<never> => {
  if (!signal.aborted) await once(signal, 'abort');
  throw new PlantStoreError('CANCELLED', 'the caller gave up');
};

async function* oneUntilAborted(request: never, call: StreamingCall) {
  yield create(StreamPlantsResponseSchema, { nextCursor: 'a' });
  await untilAborted(request, call);
}

async function* forEver() {
  for (;;) yield create(StreamPlantsResponseSchema, { nextCursor: 'a' });
}

describe('errors of the inside say nothing, but for an id under which the log has all', () => {
  test('at once', async () => {
    await using app = await HttpApp.connect({ listPlants: () => Promise.reject(new TypeError('secret')) });
    const reply = await client(app.url)('POST', LIST, { body: '{}' });
    expect(reply.status).toBe(500);
    expect(reply.text).not.toContain('secret');
    const requestId = reply.headers['x-request-id'];
    expect(JSON.parse(reply.text)).toMatchObject({
      code: 'internal',
      details: [{ debug: { reason: 'INTERNAL' } }, { type: 'google.rpc.RequestInfo', debug: { requestId } }],
    });
    expect(app.logs).toMatchObject([{ level: 'error', requestId, err: { message: 'secret' } }]);
  });

  test('in the middle of a stream', async () => {
    await using app = await HttpApp.connect({
      async *streamPlants() {
        yield create(StreamPlantsResponseSchema, { nextCursor: 'a' });
        throw new TypeError('secret');
      },
    });
    const headers = { 'content-type': 'application/connect+json' };
    const { text } = await client(app.url)('POST', STREAM, { headers, body: ENVELOPE });
    expect(text).toContain('"nextCursor":"a"');
    expect(text).toContain('"code":"internal"');
    expect(text).not.toContain('secret');
  });
});

test('a stream that fails before its first message, and after its headers, says why in its end', async () => {
  await using app = await HttpApp.connect({
    // biome-ignore lint/correctness/useYield: it fails first.
    async *streamPlants(_request: never, call: StreamingCall) {
      call.sendHeaders!();
      throw new PlantStoreError('STORE_UNAVAILABLE', 'gone', { retryAfter: 1 });
    },
  });
  const headers = { 'content-type': 'application/connect+json' };
  const reply = await client(app.url)('POST', STREAM, { headers, body: ENVELOPE });
  expect(reply.headers).toMatchObject({ 'content-type': 'application/connect+json', 'x-accel-buffering': 'no' });
  expect(reply.text).toContain('"code":"unavailable"');
  expect(reply.text).toContain('"reason":"STORE_UNAVAILABLE"');
});

describe('a time limit that passes ends the call', () => {
  const limit = { 'connect-timeout-ms': '500' };

  test.each(['500', '0000000500'])('of one answer, written as %s', async (milliseconds) => {
    await using app = await HttpApp.connect({ listPlants: untilAborted });
    const headers = { 'connect-timeout-ms': milliseconds };
    const reply = await client(app.url)('POST', LIST, { headers, body: '{}' });
    expect({ status: reply.status, code: JSON.parse(reply.text).code }).toEqual({
      status: 504,
      code: 'deadline_exceeded',
    });
  });

  test('of one answer that comes too late', async () => {
    await using app = await HttpApp.connect({
      listPlants: async (_request, { signal }) => {
        await once(signal, 'abort');
        return create(ListPlantsResponseSchema);
      },
    });
    expect((await client(app.url)('POST', LIST, { headers: limit, body: '{}' })).status).toBe(504);
  });

  test.each([
    ['that waits', oneUntilAborted],
    ['that does not look at it', forEver],
  ])('of a stream %s', async (_, streamPlants) => {
    await using app = await HttpApp.connect({ streamPlants });
    const headers = { 'content-type': 'application/connect+json', ...limit };
    const { text } = await client(app.url)('POST', STREAM, { headers, body: ENVELOPE });
    expect(text).toContain('"nextCursor":"a"');
    expect(text).toContain('"code":"deadline_exceeded"');
  });
});

test.each([
  ['Connect', { 'content-type': 'application/connect+json', 'connect-timeout-ms': '0' }, ENVELOPE, 'deadline_exceeded'],
  ['gRPC-Web', { 'content-type': 'application/grpc-web+proto', 'grpc-timeout': '0S' }, Buffer.alloc(5), 'status: 4'],
])('a call over %s without any time is not served, as over gRPC', async (_, headers, body, end) => {
  const streamPlants = vi.fn(forEver);
  await using app = await HttpApp.connect({ streamPlants });
  const { text } = await client(app.url)('POST', STREAM, { headers, body });
  expect(text).toContain(end);
  expect(streamPlants).not.toHaveBeenCalled();
});

test('a stream that its client does not read gives its permit back soon after its time limit', async () => {
  await using app = await HttpApp.connect({
    async *streamPlants() {
      for (;;) yield create(StreamPlantsResponseSchema, { nextCursor: 'x'.repeat(100_000) });
    },
  });
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1').on('error', () => {});
  const head = ['Host: plants.test', 'Content-Type: application/connect+json', 'Connect-Timeout-Ms: 100'];
  socket.write(`POST ${STREAM} HTTP/1.1\r\n${head.join('\r\n')}\r\nContent-Length: ${ENVELOPE.length}\r\n\r\n`);
  socket.write(ENVELOPE);
  await expect.poll(() => app.admission.inFlight).toBe(1);
  await expect.poll(() => app.admission.inFlight, { timeout: 8_000 }).toBe(0);
  socket.destroy();
});

test.each([
  ['that waits', oneUntilAborted],
  ['that does not look at it', forEver],
])('the end of the server ends a stream %s, as unavailable', async (_, streamPlants) => {
  await using app = await HttpApp.connect({ streamPlants }, 50);
  const plants = createClient(PlantStoreService, createConnectTransport({ baseUrl: app.url, httpVersion: '1.1' }));
  let closed: Promise<void> | undefined;
  const read = async () => {
    for await (const _message of plants.streamPlants({})) closed ??= app.close();
  };
  const error = callErrorOf(await read().catch((thrown) => thrown));
  expect(error).toMatchObject({ code: 14, reason: 'SHUTTING_DOWN', message: expect.stringContaining('another') });
  await closed;
});

test('a client that leaves while its stream is sent makes no line on stderr', async () => {
  using stderr = vi.spyOn(console, 'error').mockReturnValue();
  await using app = await HttpApp.connect({
    async *streamPlants() {
      for (;;) yield create(StreamPlantsResponseSchema, { nextCursor: 'x'.repeat(100_000) });
    },
  });
  const head = ['Host: plants.test', 'Content-Type: application/connect+json', `Content-Length: ${ENVELOPE.length}`];
  for (let clients = 0; clients < 50; clients++) {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    socket.write(`POST ${STREAM} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`);
    socket.write(ENVELOPE);
    await once(socket, 'readable');
    // What it has not read makes of its end a reset.
    socket.end();
    socket.destroy();
  }
  await app.close();
  expect(stderr).not.toHaveBeenCalled();
});

test.each(['9007199254740993', '"0009007199254740993"'])(
  'an integer in the message of a stream is exact: %s',
  async (text) => {
    const positions: unknown[] = [];
    await using app = await HttpApp.connect({
      async *watchPlants({ afterPosition }: WatchPlantsRequest) {
        positions.push(afterPosition);
        yield create(WatchPlantsResponseSchema);
      },
    });
    const message = Buffer.from(`{"afterPosition":${text}}`);
    const body = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
    await client(app.url)('POST', WATCH, { headers: { 'content-type': 'application/connect+json' }, body });
    // A double would be the even number before it.
    expect(positions).toEqual([9007199254740993n]);
  },
);
