import { once } from 'node:events';
import { constants } from 'node:http2';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exchange, statusesIn } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import { frame, rawCall, rawSession, rawStream } from '../support/raw-grpc.ts';

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

test('a message in pieces of a byte ends its connection, and others are served', async () => {
  const [host, port] = service.grpcUrl.split(':');
  const socket = connect(Number(port), host).on('error', () => {});
  const ended = once(socket.resume(), 'close');
  const headers = {
    ':method': 'POST',
    ':path': CHECK,
    ':scheme': 'http',
    ':authority': 'a',
    'content-type': 'application/grpc',
  };
  const block = Buffer.concat(Object.entries(headers).map(([name, value]) => field(name, value)));
  const length = frame(Buffer.alloc(0), { length: 65_280 });
  const pieces = Array.from({ length: 2_000 }, () => http2Frame(0, 0, 1, Buffer.alloc(1)));
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.write(Buffer.concat([http2Frame(4, 0, 0, Buffer.alloc(0)), http2Frame(1, 4, 1, block)]));
  socket.write(Buffer.concat([http2Frame(0, 0, 1, length), ...pieces]));
  await ended;
  await expectServed();
});

test('calls that are reset as they begin, in numbers, end their connection, and others are served', async () => {
  const session = rawSession(service.grpcUrl);
  const ended = once(session, 'close');
  await once(session, 'connect');
  const reset = setInterval(() => {
    for (let call = 0; call < 100 && !session.destroyed; call++) {
      rawStream(session, { ':path': CHECK }).close(constants.NGHTTP2_CANCEL);
    }
  }, 1);
  await expectServed();
  await ended;
  clearInterval(reset);
  await expectServed();
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
