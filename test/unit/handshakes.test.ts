import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, readFileSync } from 'node:fs';
import type { ClientHttp2Session } from 'node:http2';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { Receiver } from '../../src/log/forward/receiver.ts';
import { Admission } from '../../src/transport/admission/admission.ts';
import { leafCertificate } from '../../src/transport/forward/contact.ts';
import { addForwarding } from '../../src/transport/forward/service.ts';
import {
  type FollowedCertificates,
  followCertificates,
  readCertificates,
} from '../../src/transport/grpc/certificates.ts';
import type { Registry } from '../../src/transport/grpc/definition.ts';
import { HANDSHAKE_HELD } from '../../src/transport/grpc/handshakes.ts';
import { createListener } from '../../src/transport/grpc/listener.ts';
import { EarlyBytes } from '../../src/transport/grpc/sockets.ts';
import { CertificateAuthority } from '../support/certificates.ts';
import { GrpcApp } from '../support/grpc.ts';
import { frame, rawCall, rawSession } from '../support/raw-grpc.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const directory = temporaryDirectory(afterAll);
const MIB = 2 ** 20;
const admission = new Admission({ maxInFlight: 1_024, maxWait: 500, requestMemory: 64 * MIB }, () => {});
const sockets: Socket[] = [];
let listener: Server;
let port: number;
let hello: Buffer;
let tls: FollowedCertificates;
/** What a client of HTTP/2 begins with (RFC 9113, section 3.4), and empty settings. */
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0';

beforeAll(async () => {
  tls = { current: readCertificates(new CertificateAuthority(directory, 'ca').issue('server')) };
  ({ server: listener } = createListener({ admission, tls }, 50, (socket) => {
    sockets.push(socket);
    socket.on('error', () => {}).end('agreed');
  }));
  port = await listening(listener.listen(0, '127.0.0.1'));
  hello = await clientHello();
});
afterAll(() => {
  listener.close();
});

afterEach(() => {
  vi.restoreAllMocks();
  for (const socket of sockets.splice(0)) socket.destroy();
});

async function listening(server: ReturnType<typeof createServer>): Promise<number> {
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** What a client of TLS begins with. */
async function clientHello(): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1');
  const client = connectTls({ port: await listening(server), host: '127.0.0.1' }).on('error', () => {});
  const [socket] = await once(server, 'connection');
  const [bytes] = await once(socket, 'data');
  client.destroy();
  server.close();
  return bytes;
}

/** Connections that were accepted, and on which nothing was sent. */
async function connections(count: number): Promise<Socket[]> {
  const open = Array.from({ length: count }, () => connect(port, '127.0.0.1').on('error', () => {}));
  sockets.push(...open);
  for (let accepted = 0; accepted < count; accepted++) await once(listener, 'connection');
  return open;
}

/**
 * Agrees on TLS, and resolves with what a connection that did gets: nothing if it is closed. `first`: what it sends.
 */
async function talk(at: number, first: string): Promise<string> {
  const socket = connectTls({ port: at, host: '127.0.0.1', ALPNProtocols: ['h2'], rejectUnauthorized: false });
  socket.on('error', () => {}).write(first, 'latin1');
  const [bytes] = await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => [''])]);
  socket.destroy();
  return String(bytes);
}

test.each([0, 1])(
  'of handshakes that all go on at once after %d bytes, each turn of the event loop has few',
  async (sent) => {
    const open = await connections(100);
    const begun = sent > 0 ? called('set', open.length) : undefined;
    for (const socket of open) socket.write(hello.subarray(0, sent));
    await begun;
    while (admission.turns.waiting > 0) await setImmediate();
    let [turn, most] = [0, 0];
    const answers = open.map(async (socket) => {
      await once(socket, 'data');
      if (turn++ > 0) return;
      await setImmediate();
      most = Math.max(most, turn);
      turn = 0;
    });
    for (const socket of open) socket.write(hello.subarray(sent));
    await Promise.all(answers);
    expect(most).toBeLessThanOrEqual(32);
  },
);

test('handshakes that are never completed keep nobody else from one', async () => {
  const open = await connections(800);
  for (const socket of open) socket.write(hello.subarray(0, -1));
  const begun = performance.now();
  expect(await talk(port, '')).toBe('agreed');
  expect(performance.now() - begun).toBeLessThan(2_500);
  expect(open.filter(({ destroyed }) => destroyed)).toHaveLength(0);
});

test('clients that are far away are served after their handshakes, however many at once', async () => {
  await using app = await GrpcApp.start({}, { tls });
  const far = createServer((client) => {
    const server = connect(Number(new URL(`https://${app.address}`).port), '127.0.0.1').on('error', () => {});
    client.on('error', () => server.destroy()).on('data', (bytes) => setTimeout(() => server.write(bytes), 100));
    server.on('close', () => client.destroy()).pipe(client);
  });
  const at = await listening(far.listen(0, '127.0.0.1'));
  const answers = await Promise.all(Array.from({ length: 40 }, () => talk(at, PREFACE)));
  far.close();
  expect(answers.filter((answer) => answer.length === 0)).toEqual([]);
});

test('the port shows the certificate that the lease names, while changed files wait to be read and after', async () => {
  const ca = new CertificateAuthority(directory, 'changing');
  const [old, next] = [ca.issue('old'), ca.issue('next')] as const;
  const files = { certificate: join(directory, 'live.crt'), key: join(directory, 'live.key') };
  const put = ({ certificate, key }: typeof old) => {
    copyFileSync(certificate, files.certificate);
    copyFileSync(key, files.key);
  };
  put(old);
  const { promise: reloaded, resolve: reload } = Promise.withResolvers<void>();
  using followed = followCertificates(files, { info: () => reload(), error: () => {} });
  await using app = await GrpcApp.start({}, { tls: followed });
  const at = Number(new URL(`https://${app.address}`).port);
  const named = () => new X509Certificate(leafCertificate(followed.current)).raw;
  const shown = async () => {
    const socket = connectTls({ port: at, host: '127.0.0.1', ALPNProtocols: ['h2'], rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const { raw } = socket.getPeerCertificate();
    socket.destroy();
    return raw;
  };
  put(next);
  expect(await shown()).toEqual(named());
  await reloaded;
  expect(named()).toEqual(new X509Certificate(readFileSync(next.certificate)).raw);
  expect(await shown()).toEqual(named());
});

test('what waits for its handshake counts as memory of requests, until it is gone', async () => {
  const open = await connections(100);
  const counted = called('set', 1, () => admission.held === open.length * (hello.length - 1));
  for (const socket of open) socket.write(hello.subarray(0, -1));
  await counted;
  const gone = called('remove', 1, () => admission.held === 0);
  for (const socket of open) socket.destroy();
  await gone;
});

test('no handshake begins for a client that has left', async () => {
  const signed = vi.spyOn(admission.turns, 'addCost');
  const open = await connections(400);
  for (const socket of open) socket.end(hello);
  const gone = called('remove', open.length);
  await gone;
  // Those whose turn came before the service heard of it.
  expect(signed.mock.calls.length).toBeLessThan(open.length / 4);
});

test('what TLS takes counts as memory of requests until its client shows a token', async () => {
  const small = new Admission({ maxInFlight: 1_024, maxWait: 500, requestMemory: MIB }, () => {});
  await using app = await GrpcApp.start({}, { tls, admission: small });
  const at = Number(new URL(`https://${app.address}`).port);
  const open = Array.from({ length: 40 }, () =>
    connect(at, '127.0.0.1')
      .on('error', () => {})
      .resume(),
  );
  sockets.push(...open);
  const { promise: madeRoom, resolve } = Promise.withResolvers<void>();
  let ended = 0;
  for (const socket of open) {
    socket.on('close', () => {
      if (++ended === open.length - MIB / HANDSHAKE_HELD) resolve();
    });
    socket.write(hello);
  }
  await madeRoom;
  expect(await talk(at, PREFACE)).not.toBe('');
  // The others wait: they were not ended together, as when their time is over.
  expect(ended).toBeLessThan(open.length - 8);
  for (const socket of open) socket.destroy();
  await expect.poll(() => small.held).toBe(0);
  const socket = connectTls({ port: at, host: '127.0.0.1', ALPNProtocols: ['h2'], rejectUnauthorized: false });
  const session = rawSession(app.address, socket);
  await once(session, 'remoteSettings');
  expect(small.held).toBeGreaterThanOrEqual(HANDSHAKE_HELD);
  await rawCall(session, {}, frame(Buffer.alloc(0)));
  expect(small.held).toBeLessThan(HANDSHAKE_HELD);
  session.destroy();
});

test('of one owner, what TLS takes counts for all but the first connections', async () => {
  const small = new Admission({ maxInFlight: 9, maxWait: 60_000, requestMemory: MIB }, () => {});
  await using app = await GrpcApp.start({}, { tls, admission: small });
  const at = Number(new URL(`https://${app.address}`).port);
  const open = async () => {
    const socket = connectTls({ port: at, host: '127.0.0.1', ALPNProtocols: ['h2'], rejectUnauthorized: false });
    const session = rawSession(app.address, socket);
    await rawCall(session, {}, frame(Buffer.alloc(0)));
    return session;
  };
  const few: ClientHttp2Session[] = [];
  while (few.length < 16) few.push(await open());
  expect(small.held).toBeLessThan(HANDSHAKE_HELD);
  few.push(await open());
  expect(small.held).toBeGreaterThanOrEqual(HANDSHAKE_HELD);
  // Whoever leaves makes room for another one.
  for (const session of few.splice(8)) session.destroy();
  await expect.poll(() => small.held).toBeLessThan(HANDSHAKE_HELD);
  few.push(await open());
  expect(small.held).toBeLessThan(HANDSHAKE_HELD);
  let ended = 0;
  while (few.length < 40) {
    const session = await open();
    few.push(session.once('close', () => ended++));
  }
  await expect.poll(() => ended).toBeGreaterThan(0);
  for (const session of few) session.destroy();
});

test.each(['', '\x16\x03\x01'])(
  'a connection that has sent %j does not hold up the end',
  async (sent) => {
    const app = await GrpcApp.start({}, { tls });
    const socket = connect(Number(new URL(`https://${app.address}`).port), '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    socket.write(sent, 'latin1');
    // Accepted after it, and on its way when the server stops.
    expect(await talk(Number(new URL(`https://${app.address}`).port), PREFACE)).not.toBe('');
    const closed = once(socket.resume(), 'close');
    // Its time for a handshake is 20 s.
    await app.server.drain(15_000);
    await closed;
  },
  10_000,
);

test('strangers who open all connections end none of another instance', async () => {
  const crowded = new Admission({ maxInFlight: 9, maxWait: 500, requestMemory: MIB, maxConnections: 4 }, () => {});
  const begin = (_say: unknown, end: () => void) => ({ receive: () => {}, finish: end, abandon: () => {} });
  const addInternal = (registry: Registry) => addForwarding(registry, () => ({ begin }) as unknown as Receiver);
  await using app = await GrpcApp.start({}, { admission: crowded, addInternal, isInstance: () => true });
  const link = rawSession(app.address);
  const path = '/plantstore.internal.v1.ForwardingService/Forward';
  expect(await rawCall(link, { ':path': path }, frame(Buffer.alloc(0)))).toMatchObject({ status: 0 });
  const strangers = Array.from({ length: 8 }, () =>
    connect(Number(new URL(`http://${app.address}`).port), '127.0.0.1'),
  );
  sockets.push(...strangers);
  const ended = strangers.map((socket) => once(socket.on('error', () => {}).resume(), 'close'));
  await Promise.race(ended);
  expect(await rawCall(link, { ':path': path }, frame(Buffer.alloc(0)))).toMatchObject({ status: 0 });
  link.destroy();
});

/** Resolves when a method of the admission's memory was called so many times while a condition held. */
function called(method: 'set' | 'remove', times: number, counts = () => true): Promise<void> {
  const { memory } = admission;
  const original = memory[method].bind(memory) as (...values: unknown[]) => void;
  let calls = 0;
  return new Promise((resolve) => {
    vi.spyOn(memory, method).mockImplementation((...values: unknown[]) => {
      original(...values);
      if (counts() && ++calls === times) resolve();
    });
  });
}

test('what a client sends before its turn is put back, and not kept as long as the socket', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  const client = connect(await listening(server), '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket];
  sockets.push(client, socket);
  server.close();
  const { promise: come, resolve } = Promise.withResolvers<void>();
  const early = new EarlyBytes(socket, MIB, resolve);
  client.write('fern');
  await come;
  expect(String(early.bytes)).toBe('fern');
  early.putBack();
  expect(early.bytes).toHaveLength(0);
  expect(String(await once(socket, 'data'))).toBe('fern');
});
