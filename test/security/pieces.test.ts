import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exchange, statusesIn } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import { frame, rawCall, rawSession } from '../support/raw-grpc.ts';

let service: LocalService;
let token: string;

beforeAll(async () => {
  // So that no time limit ends a connection instead.
  service = await startLocalService({ REQUEST_TIMEOUT: '3600', IDLE_TIMEOUT: '3600' });
  token = await service.token('alice');
});

afterAll(() => service.stop());

const CHECK = '/grpc.health.v1.Health/Check';

/** Expects a call on another connection to be answered. */
async function expectServed(): Promise<void> {
  const other = rawSession(service.grpcUrl);
  expect(await rawCall(other, { ':path': CHECK }, frame(Buffer.alloc(0)))).toMatchObject({ status: 0 });
  other.destroy();
}

/** A frame of HTTP/2 (RFC 9113, section 4.1). */
function http2Frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A field of a header block, not indexed (RFC 7541, section 6.2.2). */
const field = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]);

/** A connection to the gRPC port that has sent its preface and settings. */
function opened(): Socket {
  const [host, port] = service.grpcUrl.split(':');
  const socket = connect(Number(port), host).on('error', () => {});
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.write(http2Frame(4, 0, 0, Buffer.alloc(0)));
  return socket;
}

const HEADERS = Buffer.concat(
  Object.entries({
    ':method': 'POST',
    ':path': CHECK,
    ':scheme': 'http',
    ':authority': 'a',
    'content-type': 'application/grpc',
  }).map(([name, value]) => field(name, value)),
);

/** The frames that begin a call, and that cancel it (RFC 9113, section 6.4). */
const begin = (stream: number): Buffer => http2Frame(1, 4, stream, HEADERS);
const cancel = (stream: number): Buffer => http2Frame(3, 0, stream, Buffer.from([0, 0, 0, 8]));
const PING = http2Frame(6, 0, 0, Buffer.alloc(8));

/** So many streams of a client. */
const streams = (count: number): number[] => Array.from({ length: count }, (_, index) => 2 * index + 1);

test('a message in pieces of a byte ends its connection, and others are served', async () => {
  const socket = opened();
  const ended = once(socket.resume(), 'close');
  const length = frame(Buffer.alloc(0), { length: 65_280 });
  const pieces = Array.from({ length: 2_000 }, () => http2Frame(0, 0, 1, Buffer.alloc(1)));
  socket.write(begin(1));
  socket.write(Buffer.concat([http2Frame(0, 0, 1, length), ...pieces]));
  await ended;
  await expectServed();
});

test('calls of which each is reset as it begins, in numbers, end their connection, and others are served', async () => {
  const socket = opened();
  const ended = once(socket.resume(), 'close');
  // Fewer than a thousand, after which Node itself ends a connection.
  socket.write(Buffer.concat(streams(200).flatMap((stream) => [begin(stream), cancel(stream)])));
  await ended;
  await expectServed();
});

test('a client whose calls expired before any was read may reset all of them, and its connection is served', async () => {
  const socket = opened();
  const calls = streams(100);
  socket.write(Buffer.concat([...calls.map(begin), ...calls.map(cancel), PING]));
  const answers: Buffer[] = [];
  for await (const bytes of socket) {
    answers.push(bytes);
    if (Buffer.concat(answers).includes(http2Frame(6, 1, 0, Buffer.alloc(8)))) break;
  }
  expect(Buffer.concat(answers).includes(http2Frame(6, 1, 0, Buffer.alloc(8)))).toBe(true);
});

test('an answer to HEAD is no stream: what is pipelined behind it is answered', async () => {
  const head = `Host: a\r\nAuthorization: Bearer ${token}\r\n`;
  const answers = await exchange(
    service.url,
    `HEAD /plants HTTP/1.1\r\n${head}Accept: text/event-stream\r\n\r\nGET /nope HTTP/1.1\r\n${head}Connection: close\r\n\r\n`,
  );
  expect(statusesIn(answers)).toEqual([200, 404]);
});

test('an expectation of HTTP/1.0, or another one, gets no 100', async () => {
  const body = '{"id":2,"name":"Oak"}';
  const rest = `Host: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.length}\r\n`;
  expect(
    statusesIn(await exchange(service.url, `POST /plants HTTP/1.0\r\n${rest}Expect: 100-continue\r\n\r\n${body}`)),
  ).toEqual([200]);
  expect(
    statusesIn(await exchange(service.url, `POST /plants HTTP/1.1\r\n${rest}Expect: 200-ok\r\n\r\n${body}`)),
  ).toEqual([400]);
});
