import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, constants, type OutgoingHttpHeaders } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import { create } from '@bufbuild/protobuf';
import { credentials, status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { ListPlantsResponseSchema } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import type { Authenticate } from '../../../src/auth/authenticator.ts';
import { Admission } from '../../../src/transport/admission/admission.ts';
import { CertificateAuthority } from '../../support/certificates.ts';
import { bearer, GrpcApp, type GrpcClient, grpcClient, unary } from '../../support/grpc.ts';
import { ALICE } from '../../support/principal.ts';
import { frame, rawCall, rawSession, rawStream } from '../../support/raw-grpc.ts';
import { type Service, startService } from '../../support/service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Calls at once on a connection: what the service allows. */
const STREAMS = 128;
const LIST = '/plantstore.v1.PlantStoreService/ListPlants';
/** Metadata or a message of a call, in bytes. */
const LARGE = 14_000;
const MESSAGE = Buffer.alloc(60_000);
/** What requests may hold together, in bytes. The service has this share of its MEMORY. */
const MAX_HELD = 64 * 1024 * 1024;

const directory = temporaryDirectory(afterAll);
let service: Service;
let token: string;
let alice: GrpcClient;

beforeAll(async () => {
  service = await startService({
    NODE_OPTIONS: '--max-old-space-size=320 --max-semi-space-size=16 --v8-pool-size=1',
    MEMORY: String(4 * MAX_HELD),
    // So that no ping ends a connection whose headers do not end.
    IDLE_TIMEOUT: '600',
  });
  token = await service.token('alice');
  alice = grpcClient(service.grpcUrl);
});
afterAll(async () => {
  alice.close();
  expect(await service.stop()).toBe(0);
});

const isServed = () => unary(alice, 'listPlants', {}, bearer(token));

// Whatever strangers did: the process lives, serves others, and has its memory back.
afterEach(async () => {
  expect(service.exitCode).toBeNull();
  await isServed();
  const session = rawSession(service.grpcUrl);
  const headers = { authorization: `Bearer ${token}`, fern: 'x'.repeat(LARGE) };
  expect(await rawCall(session, headers, frame(Buffer.alloc(0)))).toMatchObject({ status: status.OK });
  session.destroy();
});

/** Calls of a stranger on connections of their own. They end with the connections. */
class Strangers implements Disposable {
  /** Connections that the service ended. */
  ended = 0;
  /** Calls that have not ended. */
  open = 0;
  readonly #address: string;
  readonly #sessions: ClientHttp2Session[] = [];

  constructor(address: string) {
    this.#address = address;
  }

  /** Begins as many calls as a connection may have, on so many connections. Resolves once all have arrived. */
  async call(connections: number, headers: OutgoingHttpHeaders, message: Uint8Array): Promise<void> {
    for (let connection = 0; connection < connections; connection++) {
      const session = rawSession(this.#address);
      this.#sessions.push(session);
      session.on('goaway', (code) => {
        if (code === constants.NGHTTP2_ENHANCE_YOUR_CALM) this.ended++;
      });
      await Promise.all(Array.from({ length: STREAMS }, () => this.#begin(session, headers, message)));
      if (!session.destroyed) await new Promise((resolve) => session.ping(resolve));
    }
  }

  /** Resolves once the message is sent, or the call has ended. */
  #begin(session: ClientHttp2Session, headers: OutgoingHttpHeaders, message: Uint8Array): Promise<void> {
    const stream = rawStream(session, headers).resume();
    this.open++;
    return new Promise((resolve) => {
      stream.on('close', () => {
        this.open--;
        resolve();
      });
      stream.write(message, () => resolve());
    });
  }

  [Symbol.dispose](): void {
    for (const session of this.#sessions) session.destroy();
  }
}

test('metadata that a library would make a thousand objects of', async () => {
  using strangers = new Strangers(service.grpcUrl);
  const headers = { ':path': '/grpc.health.v1.Health/Check', 'fern-bin': ','.repeat(LARGE) };
  await strangers.call(16, headers, Buffer.alloc(0));
  await isServed();
});

test.each<[string, number, number, OutgoingHttpHeaders, Uint8Array]>([
  ['metadata', LARGE, 48, { fern: 'x'.repeat(LARGE) }, Buffer.alloc(0)],
  ['half a message', MESSAGE.length, 16, {}, frame(MESSAGE, { length: MESSAGE.length + 1 })],
])('calls that wait, each with %s, hold no more on many connections than their bound', async (...about) => {
  const [, bytes, connections, headers, message] = about;
  // The issuer does not answer for a key that it is asked for.
  const authenticate: Authenticate = (token) => (token === 'alice' ? ALICE : new Promise<never>(() => {}));
  const admission = new Admission({ maxInFlight: 100_000, maxWait: 60_000, requestMemory: MAX_HELD }, () => {});
  await using app = await GrpcApp.start(
    { listPlants: () => Promise.resolve(create(ListPlantsResponseSchema)) },
    { authenticate, admission },
  );
  using strangers = new Strangers(app.address);
  const call = { ':path': LIST, authorization: 'unknown', ...headers };
  // Waits like the others, but holds little.
  const modest = rawSession(app.address);
  const waiting = rawCall(modest, { authorization: 'unknown' }, frame(Buffer.alloc(0)));
  await strangers.call(connections, call, message);
  // What has come is counted four times a second.
  await expect.poll(() => strangers.ended).toBeGreaterThan(0);
  await expect.poll(() => strangers.open * bytes).toBeLessThanOrEqual(MAX_HELD);
  expect(strangers.open).toBeGreaterThan(STREAMS);
  expect(admission.held).toBeLessThanOrEqual(MAX_HELD);
  expect(modest.destroyed).toBe(false);
  modest.destroy();
  await waiting;
  const session = rawSession(app.address);
  expect(await rawCall(session, { authorization: 'alice' }, frame(Buffer.alloc(0)))).toMatchObject({
    status: status.OK,
  });
  session.destroy();
});

/** The head of a frame (RFC 9113, section 4.1). */
const head = (length: number, type: number, flags: number, stream: number) => {
  const bytes = Buffer.alloc(9);
  bytes.writeUIntBE(length, 0, 3);
  bytes.writeUInt8(type, 3);
  bytes.writeUInt8(flags, 4);
  bytes.writeUInt32BE(stream, 5);
  return bytes;
};

/** A call, whose fields no table keeps (RFC 7541, section 6.2.2). */
function beginning(stream: number, path: string): Buffer {
  const fields = { ':method': 'POST', ':scheme': 'http', ':path': path, 'content-type': 'application/grpc' };
  const block = Object.entries(fields).flatMap(([name, value]) => [
    Buffer.of(0, name.length),
    Buffer.from(name),
    Buffer.of(value.length),
    Buffer.from(value),
  ]);
  const length = block.reduce((sum, piece) => sum + piece.length, 0);
  return Buffer.concat([head(length, 1, 4, stream), ...block]);
}

test('headers without an end hold no more on many connections than their bound', async () => {
  const [host, port] = service.grpcUrl.split(':');
  // Fields of 16,000 bytes, not indexed: `:fern: xxx`, one to a frame. HEADERS, then CONTINUATION (RFC 9113, 6.10).
  const field = Buffer.concat([Buffer.from([0x00, 0x01, 0x66, 0x7f, 0x81, 0x7c]), Buffer.alloc(16_000, 'x')]);
  const block = Array.from({ length: 8 }, (_, index) => [head(field.length, index === 0 ? 1 : 9, 0, 1), field]);
  const bytes = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), head(0, 4, 0, 0), ...block.flat()]);
  const sockets = Array.from({ length: (MAX_HELD / bytes.length) * 1.25 }, () => {
    const socket = connect(Number(port), host).on('error', () => {});
    socket.resume().write(bytes);
    return socket;
  });
  await Promise.race(sockets.map((socket) => once(socket, 'close')));
  await isServed();
  for (const socket of sockets) socket.destroy();
}, 60_000);

/** Opens the window of a connection by one byte (RFC 9113, section 6.9). */
const WINDOW_UPDATE = Buffer.from([0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
const OPENING = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1');

/** How many lists are served one after the other within 2 s, while these connections send frames that are no call. */
async function servedBeside(sockets: readonly Socket[], list: () => Promise<unknown>): Promise<number> {
  const flood = Buffer.concat(Array.from({ length: 5_000 }, () => WINDOW_UPDATE));
  for (const socket of sockets) {
    const send = () => {
      while (!socket.destroyed && socket.write(flood));
    };
    socket.on('drain', send).write(OPENING);
    send();
  }
  await sleep(500);
  let served = 0;
  for (const end = performance.now() + 2_000; performance.now() < end; served++) await list();
  for (const socket of sockets) socket.destroy();
  return served;
}

test('connections that send frames without end that are no call are read in turns: others are served meanwhile', async () => {
  const { hostname, port } = new URL(`http://${service.grpcUrl}`);
  const sockets = Array.from({ length: 32 }, () => connect(Number(port), hostname).on('error', () => {}));
  // Some 490 on two cores; 25 where each turn of the event loop parses what all of them have sent.
  expect(await servedBeside(sockets, isServed)).toBeGreaterThan(100);
});

test('so are those over TLS, also if Node writes when they have to wait', async () => {
  const ca = new CertificateAuthority(directory, 'ca');
  const { certificate, key } = ca.issue('server');
  await using other = await startService({ GRPC_TLS_CERT: certificate, GRPC_TLS_KEY: key });
  const address = other.grpcUrl.replace('127.0.0.1', 'localhost');
  const { hostname: host, port } = new URL(`https://${address}`);
  const trusted = readFileSync(ca.certificate);
  const client = grpcClient(address, { tls: credentials.createSsl(trusted) });
  const metadata = bearer(await other.token('alice'));
  const open = async () => {
    const socket = tls.connect({ host, port: Number(port), ca: trusted, ALPNProtocols: ['h2'] }).on('error', () => {});
    await once(socket, 'secureConnect');
    return socket.resume();
  };
  const sockets = await Promise.all(Array.from({ length: 32 }, open));
  expect(await servedBeside(sockets, () => unary(client, 'listPlants', {}, metadata))).toBeGreaterThan(100);
  client.close();
});

test('clients that begin calls and leave, again and again, keep no new connection waiting for those that are gone', async () => {
  const { hostname, port } = new URL(`http://${service.grpcUrl}`);
  const calls = Array.from({ length: 128 }, (_, call) => beginning(2 * call + 1, LIST));
  let hasEnded = false;
  const come = () => {
    if (hasEnded) return;
    const socket = connect(Number(port), hostname)
      .on('error', () => {})
      .on('close', come)
      .resume();
    socket.write(Buffer.concat([OPENING, ...calls]), () => setTimeout(() => socket.resetAndDestroy(), 100));
  };
  for (let number = 0; number < 64; number++) come();
  await sleep(1_000);
  const health = { ':path': '/grpc.health.v1.Health/Check' };
  for (let number = 0; number < 5; number++) {
    const session = rawSession(service.grpcUrl);
    expect(await rawCall(session, health, frame(Buffer.alloc(0)))).toMatchObject({ status: status.OK });
    session.destroy();
  }
  hasEnded = true;
}, 10_000);

/** PING, and what its answer begins with (RFC 9113, section 6.7). */
const PING = Buffer.from([0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
const PONG = Buffer.from([0, 0, 8, 6, 1, 0, 0, 0, 0]);

test('a connection that has sent many such frames is read to their end', async () => {
  const { hostname, port } = new URL(`http://${service.grpcUrl}`);
  const many = Buffer.concat(Array.from({ length: 40_000 }, () => WINDOW_UPDATE));
  const answers = Array.from({ length: 8 }, async () => {
    const socket = connect(Number(port), hostname).on('error', () => {});
    socket.write(Buffer.concat([OPENING, many, PING]));
    let read = Buffer.alloc(0);
    for await (const chunk of socket) {
      read = Buffer.concat([read, chunk]);
      if (read.includes(PONG)) break;
    }
    return read.includes(PONG);
  });
  expect(await Promise.all(answers)).toEqual(Array(8).fill(true));
});
