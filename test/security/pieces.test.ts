import { once } from 'node:events';
import { constants } from 'node:http2';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { client, exchange, statusesIn } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import { frame, rawCall, rawSession } from '../support/raw-grpc.ts';

let service: LocalService;
let token: string;

beforeAll(async () => {
  service = await startLocalService();
  token = await service.token('alice');
});

afterAll(() => service.stop());

const CHECK = '/grpc.health.v1.Health/Check';

test('a body of which each byte is a chunk is put together, with what is pipelined behind it', async () => {
  const body = `{"id":1,"name":"${'Fern '.repeat(200).trim()}"}`;
  const head = `Host: a\r\nAuthorization: Bearer ${token}\r\n`;
  const chunks = [...body].map((byte) => `1\r\n${byte}\r\n`).join('');
  const answers = await exchange(
    service.url,
    `POST /plants HTTP/1.1\r\n${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n` +
      `GET /plants/1 HTTP/1.1\r\n${head}Connection: close\r\n\r\n`,
  );
  expect(statusesIn(answers)).toEqual([200, 200]);
  expect(answers.match(/\{"name":"[^"]+"\}/g)!.map((plant) => JSON.parse(plant).name)).toEqual(
    Array(2).fill(JSON.parse(body).name),
  );
});

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
  const headers = { ':method': 'POST', ':path': CHECK, 'content-type': 'application/grpc' };
  const reset = setInterval(() => {
    for (let call = 0; call < 100 && !session.destroyed; call++) {
      const stream = session.request(headers);
      stream.on('error', () => {});
      stream.close(constants.NGHTTP2_CANCEL);
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

test('writes that are sent without awaiting an answer are done in order', async () => {
  const bytesOf = (line: string, body = '') =>
    `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`;
  for (let round = 0; round < 10; round++) {
    const writes = bytesOf('POST /plants', '{"id":7,"name":"x"}') + bytesOf('DELETE /plants/7');
    const read = bytesOf('GET /plants/7').replace('Host', 'Connection: close\r\nHost');
    expect(statusesIn(await exchange(service.url, writes + read))).toEqual([200, 204, 404]);
  }
});

test('a client that goes away in the middle of its body leaves nothing behind', async () => {
  const { hostname, port } = new URL(service.url);
  const mallory = await service.token('mallory');
  for (let round = 0; round < 100; round++) {
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${mallory}\r\nContent-Type: application/json\r\n` +
        'Content-Length: 40\r\n\r\n{"id":1',
    );
    await once(socket, 'connect');
    socket.destroy();
  }
  expect((await client(service.url, mallory)('GET', '/plants')).text).toBe('[]');
});
