import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, Socket } from 'node:net';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Admission } from '../../src/transport/admission/admission.ts';
import { GrpcConnection } from '../../src/transport/grpc/connection.ts';
import { ReadPace } from '../../src/transport/grpc/read-pace.ts';
import { createGrpcServer } from '../../src/transport/grpc/server.ts';

const KIB = 1024;

/** A server with so many places for connections, and what it holds. */
async function startServer(maxConnections: number) {
  const limits = { maxInFlight: 8, maxWait: 60_000, requestMemory: 10_000_000, maxConnections };
  const admission = new Admission(limits, () => {});
  const server = createGrpcServer({
    services: [],
    authenticate: async () => Promise.reject(new Error('no call needs a token')),
    admission,
    limits: { requestTimeout: 60, idleTimeout: 60 },
    logger: pino({ level: 'silent' }),
    isReady: () => true,
  });
  const address = await server.listen('127.0.0.1', 0);
  onTestFinished(() => server.drain(0));
  return { address, port: Number(address.split(':')[1]), admission };
}

const FRAME = { data: 0, headers: 1, settings: 4, goaway: 7 };

/** A frame of HTTP/2 (RFC 9113, section 4.1). */
function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A field that HPACK does not index (RFC 7541, section 6.2.2). */
const field = (name: string, value: string) =>
  Buffer.concat([Buffer.of(0, name.length), Buffer.from(name), Buffer.of(value.length), Buffer.from(value)]);

const EMPTY = Buffer.alloc(0);
const HEALTH_CHECK = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  frame(FRAME.settings, 0, 0, EMPTY),
  frame(
    FRAME.headers,
    4,
    1,
    Buffer.concat([
      ...[field(':method', 'POST'), field(':scheme', 'http'), field(':authority', 'localhost')],
      ...[field(':path', '/grpc.health.v1.Health/Check'), field('te', 'trailers')],
      field('content-type', 'application/grpc'),
    ]),
  ),
  frame(FRAME.data, 1, 1, Buffer.alloc(5)),
]);
/** How the message of the answer begins. */
const HEALTH = Buffer.of(0, 0, 0, 0, 2, 8);
const goaway = (debugData: number) => frame(FRAME.goaway, 0, 0, Buffer.alloc(8 + debugData));
const GOAWAY = goaway(0);

/** A client that has had an answer, says that it goes, and stays. */
async function leaving(port: number, farewell = GOAWAY): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {});
  onTestFinished(() => void socket.destroy());
  socket.write(HEALTH_CHECK);
  await new Promise<void>((resolve) => {
    let answer: Buffer = EMPTY;
    socket.on('data', (piece) => {
      answer = Buffer.concat([answer, piece]);
      if (answer.includes(HEALTH)) resolve();
    });
  });
  socket.write(farewell);
  await once(socket, 'end');
  return socket;
}

const session = (address: string) => {
  const made = connectHttp2(`http://${address}`).on('error', () => {});
  onTestFinished(() => made.destroy());
  return made;
};

test('clients that have said that they go, and stay, lose their places to another', async () => {
  const { address, port } = await startServer(3);
  await Promise.all([leaving(port), leaving(port), leaving(port)]);
  await once(session(address), 'remoteSettings');
});

test.each([
  ['', GOAWAY],
  // So much that is no call has its session asked whether it is whole, which is over.
  [' at length', goaway(12 * KIB)],
])(
  'a client that has said%s that it goes, and stays, is left: what it sends then is refused',
  async (_, farewell) => {
    const { port } = await startServer(100);
    const socket = await leaving(port, farewell);
    const sending = setInterval(() => socket.write(GOAWAY, () => {}), 100);
    onTestFinished(() => clearInterval(sending));
    await new Promise((resolve) => socket.once('close', resolve));
  },
  10_000,
);

test('a connection on which nothing is heard is over, however long the process stood still, and no other is', () => {
  const admission = new Admission({ maxInFlight: 8, maxWait: 60_000, requestMemory: 10_000_000 }, () => {});
  const made = () => {
    const socket = Object.defineProperty(new Socket(), 'bytesRead', { value: 0, writable: true });
    const pace = new ReadPace();
    onTestFinished(() => pace.close());
    return { socket, connection: new GrpcConnection(socket, admission, pace, () => {}) };
  };
  const [silent, heard] = [made(), made()];
  for (let look = 0; look < 12; look++) {
    expect(silent.socket.destroyed).toBe(look > 10);
    Object.assign(heard.socket, { bytesRead: look });
    for (const { connection } of [silent, heard]) connection.check(10);
  }
  expect(heard.socket.destroyed).toBe(false);
});

test('a connection that is closed is checked no more', async () => {
  const { address } = await startServer(100);
  // At what it holds, and at how much it sends.
  const checks = (['check', 'readSince'] as const).map((name) => vi.spyOn(GrpcConnection.prototype, name));
  onTestFinished(() => {
    for (const check of checks) check.mockRestore();
  });
  /** The connections that are checked from now on. It checks four times a second. */
  const checked = async () => {
    for (const { mock } of checks) mock.contexts.length = 0;
    await new Promise((resolve) => setTimeout(resolve, 600));
    return checks.map(({ mock }) => new Set(mock.contexts));
  };
  // Those of other tests.
  const [held, sending] = await checked();
  const client = session(address);
  const ours = async () => {
    const [now, paced] = await checked();
    return [[...now!].filter((one) => !held!.has(one)).length, [...paced!].filter((one) => !sending!.has(one)).length];
  };
  await expect.poll(ours).toEqual([1, 1]);
  client.destroy();
  await expect.poll(ours).toEqual([0, 0]);
});

test('frames that are no call do not count as headers without an end', async () => {
  const { address, admission } = await startServer(100);
  const client = session(address);
  await once(client, 'remoteSettings');
  const watch = client.request({
    ...{ ':method': 'POST', ':path': '/grpc.health.v1.Health/Watch', te: 'trailers' },
    'content-type': 'application/grpc',
  });
  watch.on('error', () => {}).end(Buffer.alloc(5));
  await once(watch, 'data');
  const before = admission.held;
  const ping = () =>
    new Promise<void>((resolve, reject) => client.ping((error) => (error === null ? resolve() : reject(error))));
  for (let pings = 0; pings < 4_000; pings++) await ping();
  // It looks four times a second.
  await new Promise((resolve) => setTimeout(resolve, 600));
  await expect.poll(() => admission.held, { timeout: 5_000 }).toBeLessThan(before + 16 * KIB);
}, 20_000);

test('headers without an end count', async () => {
  const { port, admission } = await startServer(100);
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  onTestFinished(() => void socket.destroy());
  socket.resume().write(HEALTH_CHECK);
  const headers = frame(FRAME.headers, 0, 3, field('fern', 'x'.repeat(100)));
  const more = frame(9, 0, 3, Buffer.concat(Array.from({ length: 100 }, () => field('fern', 'x'.repeat(100)))));
  socket.write(Buffer.concat([headers, more, more]));
  await expect.poll(() => admission.held, { timeout: 5_000 }).toBeGreaterThan(16 * KIB);
});
