import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { queryObjects } from 'node:v8';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Admission } from '../../src/transport/admission/admission.ts';
import { createGrpcServer } from '../../src/transport/grpc/server.ts';

async function startServer(): Promise<{ readonly host: string; readonly port: number }> {
  const server = createGrpcServer({
    services: [],
    authenticate: async () => Promise.reject(new Error('no call needs a token')),
    admission: new Admission({ maxInFlight: 8, maxWait: 60_000, requestMemory: 10_000_000 }, () => {}),
    limits: { requestTimeout: 60, idleTimeout: 60 },
    logger: pino({ level: 'silent' }),
    isReady: () => true,
  });
  const address = await server.listen('127.0.0.1', 0);
  onTestFinished(() => server.drain(0));
  const [host, port] = address.split(':');
  return { host: host!, port: Number(port) };
}

test('a connection of an hour ends once its calls have, and another one is accepted', async () => {
  const { host, port } = await startServer();
  onTestFinished(() => void vi.restoreAllMocks());
  // So that it is old after an hour, and not up to a tenth later.
  vi.spyOn(Math, 'random').mockReturnValue(0);
  const session = connectHttp2(`http://${host}:${port}`);
  const call = (method: string) => {
    const path = `/grpc.health.v1.Health/${method}`;
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.end(Buffer.alloc(5));
    return stream;
  };
  const watch = call('Watch');
  await once(watch, 'data');
  let left: number | undefined;
  session.on('goaway', (code) => (left = code));
  let isClosed = false;
  session.on('close', () => (isClosed = true));
  watch.on('error', () => {});
  const now = performance.now.bind(performance);
  const after = async (minutes: number) => {
    vi.spyOn(performance, 'now').mockImplementation(() => now() + minutes * 60_000);
    // It looks four times a second.
    await new Promise((resolve) => setTimeout(resolve, 600));
    return [left, isClosed];
  };
  expect(await after(59)).toEqual([undefined, false]);
  expect(await after(61)).toEqual([0, false]);
  expect(await after(64)).toEqual([0, false]);
  expect(await after(66)).toEqual([0, true]);
  vi.restoreAllMocks();
  const other = connectHttp2(`http://${host}:${port}`);
  await once(other, 'connect');
  other.destroy();
});

test('connections that have closed leave no timer lists behind', async () => {
  const { host, port } = await startServer();
  const timer = setTimeout(() => {}, 2 ** 30);
  const TimersList = (timer as unknown as { _idleNext: { constructor: () => void } })._idleNext.constructor;
  clearTimeout(timer);
  expect(TimersList.name).toBe('TimersList');
  const lists = () => queryObjects(TimersList, { format: 'count' }) as unknown as number;
  const before = lists();
  for (let round = 0; round < 10; round++)
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const session = connectHttp2(`http://${host}:${port}`);
        await once(session, 'remoteSettings');
        session.destroy();
        await once(session, 'close');
      }),
    );
  const socket = connect(port, host);
  await once(socket, 'connect');
  socket.destroy();
  expect(lists() - before).toBeLessThan(20);
});
