import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import http2, { type ServerHttp2Stream } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { create } from '@bufbuild/protobuf';
import { Metadata } from '@grpc/grpc-js';
import { expect, test, vi } from 'vitest';
import {
  ListPlantsResponseSchema,
  StreamPlantsResponseSchema,
} from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import type { Service, StreamingCall } from '../../src/call.ts';
import { loadConfig } from '../../src/config.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import type { EndedRequest } from '../../src/observe/request.ts';
import { OVERLOADED, OWNER_BUSY } from '../../src/semaphore.ts';
import { Admission } from '../../src/transport/admission/admission.ts';
import { MAX_MESSAGE } from '../../src/transport/call-limits.ts';
import { GrpcApp, type GrpcClient, grpcClient, unary } from '../support/grpc.ts';
import { ALICE } from '../support/principal.ts';
import { frame, rawCall, rawSession, rawStream } from '../support/raw-grpc.ts';

const LIMITS = loadConfig({}).limits;

const page = create(ListPlantsResponseSchema, { plants: [{ name: 'Fern' }] });
const ofPage = 2 + 2 + 'Fern'.length;

/** A call that was taken, and the signal it got; the method answers when it is told to. */
interface Held {
  readonly signal: AbortSignal;
  readonly answer: () => void;
}

interface Scene {
  readonly client: GrpcClient;
  readonly address: string;
  /** Resolves when the method was called. */
  readonly held: Promise<Held>;
}

const metadata = new Metadata();
metadata.set('x-request-id', 'mine');

const listPlants = (client: GrpcClient, options = {}) => unary(client, 'listPlants', {}, metadata, options);
const ignored = () => {};
const CALL = { 'x-request-id': 'mine' };
const STREAM = { ':path': '/plantstore.v1.PlantStoreService/StreamPlants', ...CALL };

const NEVER_WHOLE = 'never arrives whole';

/** How a call comes to its end, and what is told of it then. */
const ENDS: [string, Partial<Service['methods']>, (scene: Scene) => Promise<unknown>, Partial<EndedRequest>][] = [
  [
    'is answered',
    { listPlants: async () => page },
    ({ client }) => listPlants(client),
    { status: 'OK', bytes: ofPage },
  ],
  [
    'fails',
    { listPlants: () => Promise.reject(new PlantStoreError('PLANT_NOT_FOUND', 'no')) },
    ({ client }) => listPlants(client).catch(ignored),
    { status: 'NOT_FOUND', bytes: 0 },
  ],
  [
    'is cancelled, and answered in vain',
    {},
    async ({ client, held }) => {
      const call = client.listPlants!({}, metadata, ignored);
      const { signal, answer } = await held;
      call.cancel();
      if (!signal.aborted) await once(signal, 'abort');
      answer();
    },
    { status: 'CANCELLED', bytes: 0 },
  ],
  [
    'outlives its deadline, and is answered in vain',
    {},
    async ({ address, held }) => {
      const session = rawSession(address);
      // A client that keeps the time itself may cancel the call before the service looks at its clock.
      const call = rawCall(session, { ...CALL, 'grpc-timeout': '5S' }, frame(Buffer.alloc(0)));
      const { signal, answer } = await held;
      // The library's timer is ahead of the clock at times.
      const now = Date.now.bind(Date);
      using _clock = vi.spyOn(Date, 'now').mockImplementation(() => now() - 10_000);
      if (!signal.aborted) await once(signal, 'abort');
      answer();
      await call;
      session.destroy();
    },
    { status: 'DEADLINE_EXCEEDED', bytes: 0 },
  ],
  [
    'loses its connection',
    {},
    async ({ address, held }) => {
      const session = rawSession(address);
      void rawCall(session, CALL, frame(Buffer.alloc(0)));
      await held;
      session.destroy();
    },
    { status: 'CANCELLED', bytes: 0 },
  ],
  [
    NEVER_WHOLE,
    {},
    async ({ address }) => {
      const session = rawSession(address);
      rawStream(session, CALL).write(frame(Buffer.alloc(1), { length: 9 }));
    },
    { status: 'DEADLINE_EXCEEDED', bytes: 0 },
  ],
  [
    'has a message that is too long',
    {},
    async ({ address }) => {
      const session = rawSession(address);
      await rawCall(session, CALL, frame(Buffer.alloc(MAX_MESSAGE + 1)));
      session.destroy();
    },
    { status: 'RESOURCE_EXHAUSTED', bytes: 0 },
  ],
  [
    'is no protobuf',
    {},
    async ({ address }) => {
      const session = rawSession(address);
      await rawCall(session, CALL, frame(Buffer.alloc(9, 0xff)));
      session.destroy();
    },
    { status: 'INVALID_ARGUMENT', bytes: 0 },
  ],
  [
    'streams',
    {
      async *streamPlants() {
        for (let sent = 0; sent < 3; sent++) yield create(StreamPlantsResponseSchema, { nextCursor: '1234' });
      },
    },
    async ({ address }) => {
      const session = rawSession(address);
      await rawCall(session, STREAM, frame(Buffer.alloc(0)));
      session.destroy();
    },
    { status: 'OK', bytes: 3 * (2 + 4) },
  ],
  [
    'is reset in the middle of its stream',
    {
      async *streamPlants() {
        for (;;) yield create(StreamPlantsResponseSchema, { nextCursor: '1234' });
      },
    },
    async ({ address }) => {
      const session = rawSession(address);
      const stream = rawStream(session, STREAM);
      stream.end(frame(Buffer.alloc(0)));
      stream.once('data', () => stream.close(http2.constants.NGHTTP2_CANCEL));
    },
    { status: 'CANCELLED' },
  ],
  [
    'is not read, and outlives its deadline',
    {
      async *streamPlants() {
        for (;;) yield create(StreamPlantsResponseSchema, { nextCursor: '1234'.repeat(9_999) });
      },
    },
    async ({ address }) => {
      const session = rawSession(address);
      const stream = rawStream(session, { ...STREAM, 'grpc-timeout': '100m' });
      stream.pause().end(frame(Buffer.alloc(0)));
      await once(stream, 'close');
      session.destroy();
    },
    { status: 'DEADLINE_EXCEEDED' },
  ],
];

/** Those that would keep a process alive. */
const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;

test.each(ENDS)(
  'a call that %s is told of once, gives its permit back, and leaves no timer',
  async (name, methods, call, expected) => {
    const before = timers();
    const { promise: held, resolve: hold } = Promise.withResolvers<Held>();
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const ended: EndedRequest[] = [];
    const limits = name === NEVER_WHOLE ? { ...LIMITS, requestTimeout: 0.1 } : LIMITS;
    const admission = new Admission(limits, ignored);
    const waiting = (_request: never, { signal }: StreamingCall) =>
      new Promise<object>((resolve) => hold({ signal, answer: () => resolve(page) }));
    const app = await GrpcApp.start(
      { listPlants: waiting, ...methods },
      {
        admission,
        limits,
        observer: {
          ended: (request) => {
            // Its id is made when it is asked for.
            ended.push({ ...request });
            end();
          },
        },
      },
    );
    const client = grpcClient(app.address);
    await call({ client, address: app.address, held });
    await over;
    client.close();
    await app[Symbol.asyncDispose]();
    expect(ended).toEqual([expect.objectContaining({ protocol: 'grpc', requestId: 'mine', ...expected })]);
    expect([admission.inFlight, admission.waiting]).toEqual([0, 0]);
    // The server is told of the end of a connection before the connection is.
    await expect.poll(() => admission.held).toBe(0);
    expect(timers()).toBeLessThanOrEqual(before);
  },
);

test.each([
  ['others have all permits', 1, 'bob', OVERLOADED],
  ['its owner has a quarter of them', 4, ALICE.owner, OWNER_BUSY],
])('a call that is refused since %s is told of once, and its method is not called', async (_, maxInFlight, by, why) => {
  const ended: EndedRequest[] = [];
  const admission = new Admission({ ...LIMITS, maxInFlight }, ignored);
  using _permit = await admission.permit(by, 'rest');
  const app = await GrpcApp.start(
    {},
    {
      admission,
      observer: { ended: (call) => ended.push(call) },
    },
  );
  const client = grpcClient(app.address);
  await expect(listPlants(client)).rejects.toMatchObject({ code: why.code, details: why.message });
  client.close();
  await app[Symbol.asyncDispose]();
  expect(ended).toMatchObject([{ failure: why, bytes: 0, requestId: 'mine' }]);
  expect(admission.waiting).toBe(0);
});

test('a call whose caller leaves while it waits for a permit waits no more', async () => {
  const admission = new Admission({ ...LIMITS, maxInFlight: 1, maxWait: 3_600_000 }, ignored);
  using _permit = await admission.permit('bob', 'rest');
  const { promise: over, resolve: end } = Promise.withResolvers<EndedRequest>();
  await using app = await GrpcApp.start({}, { admission, observer: { ended: end } });
  const session = rawSession(app.address);
  const stream = rawStream(session, CALL);
  stream.end(frame(Buffer.alloc(0)));
  while (admission.waiting - admission.turns.waiting === 0) await setImmediate();
  stream.close(http2.constants.NGHTTP2_CANCEL);
  expect(await over).toMatchObject({ status: 'CANCELLED' });
  expect([admission.inFlight, admission.waiting]).toEqual([1, 0]);
  session.destroy();
});

test.each<[string, http2.OutgoingHttpHeaders, object, string]>([
  ['of a method that nobody serves', { ':path': '/none.Service/None' }, { 'grpc-status': '12' }, 'UNIMPLEMENTED'],
  ['of another content type', { 'content-type': 'application/json' }, { ':status': 415 }, 'INVALID_ARGUMENT'],
  ['of gRPC-Web', { 'content-type': 'application/grpc-web+proto' }, { ':status': 415 }, 'INVALID_ARGUMENT'],
  ['of gRPC in JSON', { 'content-type': 'application/grpc+json' }, { ':status': 415 }, 'INVALID_ARGUMENT'],
  ['by another method', { ':method': 'PUT' }, { ':status': 405, allow: 'POST' }, 'UNIMPLEMENTED'],
  ['without a content type', { 'content-type': undefined }, { ':status': 415 }, 'INVALID_ARGUMENT'],
  ['with a time limit that is none', { 'grpc-timeout': 'x' }, { 'grpc-status': '3' }, 'INVALID_ARGUMENT'],
])(
  'a call %s ends in its turn, is told of once, and leaves its connection alone',
  async (_, headers, expected, status) => {
    const ended: EndedRequest[] = [];
    const admission = new Admission(LIMITS, ignored);
    const app = await GrpcApp.start(
      { listPlants: async () => page },
      { admission, observer: { ended: (call) => ended.push(call) } },
    );
    const session = rawSession(app.address);
    const whole = () => rawCall(session, CALL, frame(Buffer.alloc(0)));
    await whole();
    const waiting: Parameters<typeof admission.turns.add>[0][] = [];
    const turns = vi.spyOn(admission.turns, 'add').mockImplementation((connection) => waiting.push(connection));
    // Never arrives whole.
    const stream = rawStream(session, { ...CALL, ...headers });
    const answer = once(stream, 'response');
    await expect.poll(() => waiting.length).toBe(1);
    await promisify(session.ping.bind(session))();
    expect(ended).toHaveLength(1);
    turns.mockRestore();
    admission.turns.add(waiting[0]!);
    expect(await answer).toEqual([expect.objectContaining(expected), expect.anything(), expect.anything()]);
    if (!stream.closed) await once(stream, 'close');
    expect(await whole()).toMatchObject({ status: 0 });
    session.destroy();
    await app[Symbol.asyncDispose]();
    expect(ended.map((call) => call.status)).toEqual(['OK', status, 'OK']);
  },
);

test.each(['application/grpc+proto', 'application/grpc; charset=utf-8', 'application/grpc+proto;x=1'])(
  'a call of the content type %s is served',
  async (type) => {
    await using app = await GrpcApp.start({ listPlants: async () => page });
    const session = rawSession(app.address);
    expect(await rawCall(session, { 'content-type': type }, frame(Buffer.alloc(0)))).toEqual({ http: 200, status: 0 });
    session.destroy();
  },
);

test.each<[http2.OutgoingHttpHeaders, number]>([
  [{ 'content-type': 'application/json' }, 415],
  [{ ':method': 'PUT' }, 405],
  [{ 'content-type': 'application/json', 'grpc-timeout': '20m' }, 415],
])('a call %j whose body is no message of gRPC is refused, and ends nothing else', async (headers, http) => {
  await using app = await GrpcApp.start({ listPlants: async () => page });
  const session = rawSession(app.address);
  expect(await rawCall(session, { ...CALL, ...headers }, Buffer.from('{"name":"Moss"}'))).toEqual({ http });
  expect(await rawCall(session, CALL, frame(Buffer.alloc(0)))).toEqual({ http: 200, status: 0 });
  session.destroy();
});

test('calls of another content type are closed with what they have sent: any number come on a connection', async () => {
  await using app = await GrpcApp.start({ listPlants: async () => page });
  const session = rawSession(app.address);
  const call = () => rawCall(session, { 'content-type': 'application/json' }, frame(Buffer.alloc(9)));
  for (let round = 0; round < 4; round++)
    expect(await Promise.all(Array.from({ length: 100 }, call))).toEqual(Array(100).fill({ http: 415 }));
  session.destroy();
});

test('calls of a connection whose messages come once all of them have begun are answered', async () => {
  await using app = await GrpcApp.start({ listPlants: async () => page });
  const session = rawSession(app.address);
  await once(session, 'connect');
  const calls = Array.from({ length: 64 }, () => rawStream(session, CALL).resume());
  const statuses = calls.map(async (call) => (await once(call, 'trailers'))[0]['grpc-status']);
  for (const call of calls) call.write(frame(Buffer.alloc(0)).subarray(0, 4));
  await promisify(session.ping).call(session);
  for (const call of calls) call.end(frame(Buffer.alloc(0)).subarray(4));
  expect(await Promise.all(statuses)).toEqual(Array(64).fill('0'));
  session.destroy();
});

test.each<[string, http2.OutgoingHttpHeaders, Uint8Array, number]>([
  ['its deadline has passed', { 'grpc-timeout': '50m' }, frame(Buffer.alloc(9), { length: 99 }), 4],
  ['its message is too long', {}, frame(Buffer.alloc(1), { length: MAX_MESSAGE + 1 }), 8],
])('a call that the library ends, as %s, holds nothing of its incomplete request', async (_, headers, part, code) => {
  const admission = new Admission(LIMITS, ignored);
  await using app = await GrpcApp.start({ listPlants: async () => page }, { admission });
  const session = rawSession(app.address);
  const stream = rawStream(session, { ...CALL, ...headers });
  const answer = once(stream, 'response');
  stream.resume().write(part);
  expect(await answer).toMatchObject([{ 'grpc-status': String(code) }, {}, {}]);
  if (!stream.closed) await once(stream, 'close');
  expect(await rawCall(session, CALL, frame(Buffer.alloc(0)))).toMatchObject({ status: 0 });
  // What has come is counted four times a second.
  await expect.poll(() => admission.held).toBeLessThan(1_024);
  session.destroy();
});

test('a connection holds nothing of the messages of its calls once they are answered', async () => {
  const admission = new Admission(LIMITS, ignored);
  await using app = await GrpcApp.start({ listPlants: async () => page }, { admission });
  const session = rawSession(app.address);
  // Fields that no message has.
  const message = frame(Buffer.alloc(1_000, Buffer.from([0x78, 0x00])), { length: 1_000 });
  for (let calls = 0; calls < 9; calls++) expect(await rawCall(session, CALL, message)).toMatchObject({ status: 0 });
  const set = vi.spyOn(admission.memory, 'set');
  // What has come is counted four times a second.
  await expect.poll(() => set.mock.calls.length).toBeGreaterThan(0);
  expect(admission.held).toBeLessThan(message.length);
  session.destroy();
});

test('a call whose deadline passes gets its status, in the middle of a stream too', async () => {
  const reflection = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
  await using app = await GrpcApp.start({
    listPlants: () => new Promise(ignored),
    async *streamPlants(_request: never, { signal }: StreamingCall) {
      yield create(StreamPlantsResponseSchema, { nextCursor: '1234' });
      await once(signal, 'abort');
    },
  });
  const session = rawSession(app.address);
  const limit = { 'grpc-timeout': '50m' };
  expect(await rawCall(session, { ...CALL, ...limit }, frame(Buffer.alloc(0)))).toEqual({ http: 200, status: 4 });
  expect(await rawCall(session, { ...STREAM, ...limit }, frame(Buffer.alloc(0)))).toEqual({ http: 200, status: 4 });
  // More requests may come.
  const asking = rawStream(session, { ':path': reflection, ...limit });
  asking.resume().write(frame(Buffer.from([0x3a, 0])));
  await once(asking, 'response');
  expect(await once(asking, 'trailers')).toMatchObject([{ 'grpc-status': '4' }, {}, {}]);
  if (!asking.closed) await once(asking, 'close');
  session.destroy();
});

test('a time limit that no timer holds is none, and makes no line on stderr', async () => {
  const warned: Error[] = [];
  const note = (warning: Error) => warned.push(warning);
  process.on('warning', note);
  await using app = await GrpcApp.start({ listPlants: async () => page });
  const session = rawSession(app.address);
  for (const limit of ['2147483S', '2147484S', '35792M', '600H', '99999999H']) {
    const end = await rawCall(session, { ...CALL, 'grpc-timeout': limit }, frame(Buffer.alloc(0)));
    expect([limit, end.status]).toEqual([limit, 0]);
  }
  session.destroy();
  process.off('warning', note);
  expect(warned).toEqual([]);
});

test('a connection of a port whose last one was reset is served, and what it holds counts', async () => {
  const admission = new Admission(LIMITS, ignored);
  let held = 0;
  const listPlants = async () => {
    held = admission.held;
    return page;
  };
  const app = await GrpcApp.start({ listPlants }, { admission });
  const [host, port] = app.address.split(':');
  // The server learns late that a connection is closed.
  const { promise: closing, resolve: close } = Promise.withResolvers<() => void>();
  const delayClose = (message: unknown) => {
    const { socket } = message as { readonly socket: Socket };
    const emit = socket.emit.bind(socket);
    socket.emit = (event: string, ...values: unknown[]) => {
      if (event !== 'close') return emit(event, ...values);
      close(() => emit(event, ...values));
      return true;
    };
    unsubscribe('net.server.socket', delayClose);
  };
  subscribe('net.server.socket', delayClose);
  // Below the ports that the system gives: another connection may have the same one of those.
  const from = { host, port: Number(port), localPort: 20_000 + (Number(port) % 10_000) };
  const former = connect(from);
  await once(former, 'connect');
  // Without the end of stream that resetAndDestroy sends first.
  (former as unknown as { readonly _handle: { reset(done: () => void): void } })._handle.reset(() => former.destroy());
  const isClosed = await closing;
  const session = rawSession(app.address, connect(from));
  expect(await rawCall(session, CALL, frame(Buffer.alloc(0)))).toMatchObject({ status: 0 });
  isClosed();
  expect(await rawCall(session, CALL, frame(Buffer.alloc(0)))).toMatchObject({ status: 0 });
  expect(held).toBeGreaterThan(0);
  session.destroy();
  await app[Symbol.asyncDispose]();
});

test('a call that was answered before its request was complete leaves no timer behind', async () => {
  await using app = await GrpcApp.start({ listPlants: async () => page });
  const session = rawSession(app.address);
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const twice = Buffer.concat([frame(Buffer.alloc(0)), frame(Buffer.alloc(0))]);
  const call = (path: string) => rawCall(session, { ':path': path }, twice);
  const paths = ['/grpc.health.v1.Health/Check', '/plantstore.v1.PlantStoreService/ListPlants'];
  await call(paths[0]!);
  const before = timers();
  await Promise.all(paths.flatMap((path) => Array.from({ length: 30 }, () => call(path))));
  session.close();
  expect(timers() - before).toBeLessThan(10);
});

test('the stream of a closed call, which Node keeps for a while, keeps nothing of the call', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const calls: WeakRef<object>[] = [];
  const streams: ServerHttp2Stream[] = [];
  const listPlants = async (_request: never, call: StreamingCall) => {
    calls.push(new WeakRef(call));
    return page;
  };
  await using app = await GrpcApp.start({ listPlants });
  const client = grpcClient(app.address);
  const created = (message: unknown) => streams.push((message as { readonly stream: ServerHttp2Stream }).stream);
  subscribe('http2.server.stream.created', created);
  await unary(client, 'listPlants', {}, metadata, {});
  unsubscribe('http2.server.stream.created', created);
  client.close();
  const isKept = () => {
    collect();
    return calls[0]!.deref() !== undefined;
  };
  await expect.poll(isKept).toBe(false);
  expect(streams).toHaveLength(1);
  expect(streams[0]!.closed).toBe(true);
});
