import { once } from 'node:events';
import { constants } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PlantStoreService } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { CertificateAuthority } from '../../support/certificates.ts';
import { fill } from '../../support/fill.ts';
import { client } from '../../support/http.ts';
import { frame, rawCall, rawSession, rawStream } from '../../support/raw-grpc.ts';
import { type Service, startService } from '../../support/service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** More than one plain read has, and more bytes than the sockets of a connection hold. */
const PLANTS = 1_500;
const TEXT = '🌱'.repeat(1_024);

const directory = temporaryDirectory(afterAll);
let service: Service;
let token: string;
beforeAll(async () => {
  const store = openSqlite(directory);
  await fill(store, PLANTS, 'alice', () => ({ name: TEXT, tag: TEXT }));
  await store.close();
  service = await startService({ DATA_DIR: directory, REQUEST_TIMEOUT: '1', IDLE_TIMEOUT: '3', MAX_IN_FLIGHT: '1' });
  token = await service.token('alice');
});
afterAll(async () => {
  expect(await service.stop()).toBe(0);
});

/** A connection, and all that it was sent, as text, once it is closed. The test's time limit is the limit. */
function open(address: string): { socket: Socket; closed: Promise<string> } {
  const { hostname, port } = new URL(address.includes('://') ? address : `tcp://${address}`);
  const socket = connect(Number(port), hostname).on('error', () => {});
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  return { socket, closed: once(socket, 'close').then(() => text) };
}

const HEAD = 'POST /plants HTTP/1.1\r\nHost: plants\r\nContent-Type: application/json\r\n';

describe('REST closes the connection of a client that', () => {
  test('says nothing', async () => {
    expect(await open(service.url).closed).toMatch(/^HTTP\/1\.1 408 .*"error":4,/s);
  });

  test('sends its headers a byte at a time', async () => {
    const { socket, closed } = open(service.url);
    const drip = setInterval(() => socket.write('x'), 50);
    socket.write(HEAD);
    expect(await closed).toMatch(/^HTTP\/1\.1 408 .*"error":4,/s);
    clearInterval(drip);
  });

  test('says nothing more after an answer', async () => {
    const { socket, closed } = open(service.url);
    socket.write(`GET /plants?limit=0 HTTP/1.1\r\nHost: plants\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    expect(await closed).toMatch(/^HTTP\/1\.1 200 .*\[\]$/s);
  });

  test.each(['/plants', '/plants?limit=1000'])('does not read its answer: %s', async (path) => {
    const { socket } = open(service.url);
    socket.pause();
    socket.write(`GET ${path} HTTP/1.1\r\nHost: plants\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    // It has the one permit, until it loses it.
    const send = client(service.url, token);
    while ((await send('GET', '/plants?limit=0')).status !== 429);
    while ((await send('GET', '/plants?limit=0')).status !== 200);
    socket.destroy();
  });
});

test.each([
  ['a stream', '/StreamPlants', Buffer.alloc(0)],
  ['an answer', '/ListPlants', Buffer.from([0x08, 0x64])],
])(
  'gRPC ends the call of a client that does not read %s, and no other of its connection',
  async (_, method, request) => {
    const { session, stream } = begin(method);
    stream.pause();
    stream.end(frame(request));
    await once(stream, 'close');
    expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
    expect(await rawCall(session, { authorization: `Bearer ${token}` }, frame(Buffer.alloc(0)))).toMatchObject({
      status: 0,
    });
    session.destroy();
  },
);

describe('gRPC closes the connection of a client that', () => {
  test('says nothing', async () => {
    // What it gets is a ping, to which it has no answer.
    expect(await open(service.grpcUrl).closed).not.toBe('');
  });

  test('does not agree on TLS', async () => {
    const { certificate, key } = new CertificateAuthority(directory, 'ca').issue('server');
    await using secure = await startService({ REQUEST_TIMEOUT: '1', GRPC_TLS_CERT: certificate, GRPC_TLS_KEY: key });
    expect(await open(secure.grpcUrl).closed).toBe('');
  });
});

/** Begins a call, on a connection of its own. */
function begin(method: string) {
  const session = rawSession(service.grpcUrl);
  const path = `/${PlantStoreService.typeName}${method}`;
  const stream = rawStream(session, { ':path': path, authorization: `Bearer ${token}` });
  return { session, stream };
}
