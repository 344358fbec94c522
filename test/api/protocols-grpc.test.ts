import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { create, createRegistry, fromBinary } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { type ClientReadableStream, type ServiceError, status } from '@grpc/grpc-js';
import { describe, expect, test } from 'vitest';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  type RequestInfo,
  RequestInfoSchema,
  RetryInfoSchema,
} from '../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';
import {
  ListPlantsResponseSchema,
  StreamPlantsResponseSchema,
} from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import type { StreamingCall } from '../../src/call.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import { endOf, GrpcApp, grpcClient, richStatus, unary } from '../support/grpc.ts';
import { frame, rawCall, rawSession, rawStream } from '../support/raw-grpc.ts';

const DETAILS = createRegistry(BadRequestSchema, ErrorInfoSchema, RequestInfoSchema, RetryInfoSchema);
/** Field 11 with the value 0, in two bytes. */
const UNKNOWN_FIELD = Buffer.from([0x58, 0]);
const empty = async () => create(ListPlantsResponseSchema);

/** How a call failed. Rejects when it did not. */
const failure = (call: Promise<unknown>): Promise<ServiceError> =>
  call.then(
    () => Promise.reject(new Error('the call succeeded')),
    (thrown) => thrown,
  );

describe('errors', () => {
  const listAgainst = async (thrown: unknown) => {
    await using app = await GrpcApp.start({ listPlants: () => Promise.reject(thrown) });
    const error = await failure(unary(grpcClient(app.address), 'listPlants', {}));
    const { code, message, details } = richStatus(error);
    expect({ code, message }).toEqual({ code: error.code, message: error.details });
    return { app, error, details: details.map((detail) => anyUnpack(detail, DETAILS)!) };
  };

  test('have their reason, the field that is wrong, and when to try again', async () => {
    const thrown = new PlantStoreError('RATE_LIMITED', 'wait', { field: 'plant.name', retryAfter: 2.5 });
    const { error, details } = await listAgainst(thrown);
    expect({ code: error.code, message: error.details }).toEqual({ code: status.RESOURCE_EXHAUSTED, message: 'wait' });
    expect(details).toMatchObject([
      { $typeName: 'google.rpc.ErrorInfo', reason: 'RATE_LIMITED', domain: 'plantstore' },
      { $typeName: 'google.rpc.BadRequest', fieldViolations: [{ field: 'plant.name', description: 'wait' }] },
      { $typeName: 'google.rpc.RetryInfo', retryDelay: { seconds: 2n, nanos: 500_000_000 } },
    ]);
  });

  test('of the inside say nothing, but for an id under which the log has all', async () => {
    const { app, error, details } = await listAgainst(new TypeError('secret'));
    expect(error.code).toBe(status.INTERNAL);
    expect(JSON.stringify(error)).not.toContain('secret');
    const { requestId } = details[1] as RequestInfo;
    expect(details).toMatchObject([{ reason: 'INTERNAL' }, { $typeName: 'google.rpc.RequestInfo' }]);
    expect(app.logs).toMatchObject([{ level: 'error', requestId, err: { message: 'secret' } }]);
  });

  test('of the store have a line of the log, with the cause', async () => {
    const cause = new Error('pool of 10.0.0.1 cleared');
    const { app, details } = await listAgainst(new PlantStoreError('STORE_UNAVAILABLE', 'try again', {}, { cause }));
    expect(inspect(details, { depth: null })).not.toContain('10.0.0.1');
    expect(app.logs).toMatchObject([{ level: 'warn', msg: 'try again', err: { message: cause.message } }]);
  });

  test('of a message with too many fields, or that is none, have their reason', async () => {
    await using app = await GrpcApp.start({ listPlants: empty });
    const session = rawSession(app.address);
    const send = (fields: number) => rawCall(session, {}, frame(Buffer.alloc(2 * fields, UNKNOWN_FIELD)));
    const { status: code, details } = await send(1_001);
    const { message, details: more } = fromBinary(StatusSchema, details!);
    expect({ code, message }).toEqual({ code: status.INVALID_ARGUMENT, message: 'the message has over 1000 fields' });
    expect(anyUnpack(more[0]!, DETAILS)).toMatchObject({ reason: 'MALFORMED_REQUEST' });
    expect(await send(1_000)).toMatchObject({ status: status.OK });
    const broken = await rawCall(session, {}, frame(Buffer.alloc(9, 0xff)));
    expect(fromBinary(StatusSchema, broken.details!)).toMatchObject({
      code: status.INVALID_ARGUMENT,
      message: 'the message must be a plantstore.v1.ListPlantsRequest in protobuf binary',
    });
    session.destroy();
  });

  test('may have any text', async () => {
    const { error } = await listAgainst(new PlantStoreError('INTERNAL', '100 % é 🌱\n'));
    expect(error.details).toBe('100 % é 🌱\n');
  });
});

test('a slow reader holds back the stream', async () => {
  let made = 0;
  await using app = await GrpcApp.start({
    async *streamPlants() {
      for (; made < 1_000; made++) yield create(StreamPlantsResponseSchema, { nextCursor: 'x'.repeat(100_000) });
    },
  });
  const stream: ClientReadableStream<unknown> = grpcClient(app.address).streamPlants!({});
  await once(stream, 'readable');
  await sleep(300);
  expect(made).toBeLessThan(100);
  expect(await endOf(stream)).toBeUndefined();
  expect(made).toBe(1_000);
});

test('a stream that fails in the middle says so after what it had', async () => {
  await using app = await GrpcApp.start({
    async *streamPlants() {
      yield create(StreamPlantsResponseSchema, { nextCursor: 'a' });
      throw new PlantStoreError('STORE_UNAVAILABLE', 'gone', { retryAfter: 1 });
    },
  });
  const stream: ClientReadableStream<unknown> = grpcClient(app.address).streamPlants!({});
  let messages = 0;
  stream.on('data', () => messages++);
  expect(await endOf(stream)).toMatchObject({ code: status.UNAVAILABLE, details: 'gone' });
  expect(messages).toBe(1);
});

test('a stream that fails before its first message, and after its headers, has its status in trailers', async () => {
  await using app = await GrpcApp.start({
    // biome-ignore lint/correctness/useYield: it fails first.
    async *streamPlants(_request: never, call: StreamingCall) {
      call.sendHeaders!();
      throw new PlantStoreError('STORE_UNAVAILABLE', 'gone', { retryAfter: 1 });
    },
  });
  const stream: ClientReadableStream<unknown> = grpcClient(app.address).streamPlants!({});
  const error = await endOf(stream);
  expect(error).toMatchObject({ code: status.UNAVAILABLE, details: 'gone' });
  expect(anyUnpack(richStatus(error!).details[0]!, DETAILS)).toMatchObject({ reason: 'STORE_UNAVAILABLE' });
});

describe('draining', () => {
  test('lets calls end, and takes no new ones', async () => {
    const begun = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    await using app = await GrpcApp.start({
      listPlants: async () => {
        begun.resolve();
        await release.promise;
        return empty();
      },
    });
    const call = unary(grpcClient(app.address), 'listPlants', {});
    await begun.promise;
    const drained = app.server.drain(60_000);
    const late = unary(grpcClient(app.address), 'listPlants', {});
    expect((await failure(late)).code).toBe(status.UNAVAILABLE);
    release.resolve();
    expect(await call).toMatchObject({ plants: [] });
    await drained;
  });

  test('ends streams that do not end, with UNAVAILABLE', async () => {
    await using app = await GrpcApp.start({
      async *streamPlants(_request: never, { signal }: StreamingCall) {
        yield create(StreamPlantsResponseSchema);
        await once(signal, 'abort');
      },
    });
    const stream: ClientReadableStream<unknown> = grpcClient(app.address).streamPlants!({});
    const end = endOf(stream);
    await once(stream, 'data');
    await app.server.drain(50);
    const error = await end;
    expect(error).toMatchObject({ code: status.UNAVAILABLE, details: expect.stringContaining('another') });
    expect(anyUnpack(richStatus(error!).details[1]!, DETAILS)).toMatchObject({ $typeName: 'google.rpc.RetryInfo' });
  });

  test('does not wait for a method that never ends', async () => {
    const begun = Promise.withResolvers<void>();
    await using app = await GrpcApp.start({
      listPlants: () => {
        begun.resolve();
        return new Promise(() => {});
      },
    });
    const call = unary(grpcClient(app.address), 'listPlants', {});
    await begun.promise;
    await Promise.all([app.server.drain(0), failure(call)]);
  });
});

test('a port that is taken is an error', async () => {
  await using app = await GrpcApp.start({});
  const port = Number(app.address.split(':')[1]);
  await expect(GrpcApp.start({}, {}, port)).rejects.toThrow('EADDRINUSE');
});

test('no compression is announced that would be refused', async () => {
  await using app = await GrpcApp.start({ listPlants: empty });
  const session = rawSession(app.address);
  const stream = rawStream(session);
  stream.end(frame(Buffer.alloc(0)));
  const [answer] = await once(stream, 'response');
  expect(answer['grpc-accept-encoding']).toBe('identity');
  stream.resume();
  const compressed = rawStream(session, { 'grpc-encoding': 'gzip' });
  compressed.end(frame(Buffer.alloc(0), { compressed: 1 }));
  const [refusal] = await once(compressed, 'response');
  expect(refusal).toMatchObject({ 'grpc-status': '12', 'grpc-accept-encoding': 'identity' });
  compressed.resume();
  session.destroy();
});
