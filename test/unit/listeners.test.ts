import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { closeWide, listenWide } from '../../src/transport/listeners.ts';
import { freePort } from '../support/free-port.ts';

const MANY = 64;

/** Listens, and resolves with the port. `onConnection` gets the connections of all listeners. */
async function listening(port = 0, onConnection: (socket: Socket) => void = () => {}): Promise<[Server, number]> {
  const server = createServer(onConnection);
  await listenWide(server, '127.0.0.1', port);
  onTestFinished(() => void closeWide(server));
  return [server, (server.address() as AddressInfo).port];
}

/** So many connections to a port, each of which has been accepted by the system. */
async function connections(port: number, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1').on('error', () => {}));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  return Promise.all(sockets.map((socket) => once(socket, 'connect').then(() => socket)));
}

test.runIf(process.platform === 'linux')('a turn of the event loop accepts many connections', async () => {
  let turn = 0;
  const turns = new Set<number>();
  let accepted = 0;
  const all = Promise.withResolvers<void>();
  const [, port] = await listening(0, () => {
    turns.add(turn);
    if (++accepted === MANY) all.resolve();
  });
  const next = () => {
    turn++;
    immediate = setImmediate(next);
  };
  let immediate = setImmediate(next);
  const opened = connections(port, MANY);
  // They wait in the system when the next turn begins.
  const end = performance.now() + 50;
  while (performance.now() < end);
  await all.promise;
  clearImmediate(immediate);
  await opened;
  expect(turns.size).toBeLessThan(MANY / 2);
});

test('a port on which another listens with as many is taken', async () => {
  const [, port] = await listening();
  await expect(listening(port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
});

test.runIf(process.platform === 'linux')(
  'of two that begin to listen on a port at one instant, one is refused',
  async () => {
    const port = await freePort();
    const both = await Promise.allSettled([listening(port), listening(port)]);
    const refused = both.filter(({ status }) => status === 'rejected');
    expect(refused).toMatchObject([{ reason: { code: 'EADDRINUSE', port } }]);
    // Who comes later meets the listeners.
    await expect(listening(port)).rejects.toMatchObject({ code: 'EADDRINUSE', syscall: 'listen' });
  },
);

test('connections of all listeners are awaited at the end', async () => {
  const [server, port] = await listening();
  const sockets = await connections(port, MANY);
  let isOver = false;
  const ended = closeWide(server).then(() => {
    isOver = true;
  });
  for (const socket of sockets.slice(1)) socket.destroy();
  await new Promise(setImmediate);
  expect(isOver).toBe(false);
  sockets[0]!.destroy();
  await ended;
});

test.runIf(process.platform === 'linux')(
  'what has begun to listen before one that cannot is closed with the others',
  async () => {
    const server = createServer({ pauseOnConnect: true });
    let made = 0;
    // Each further listener is made with the options of the server's own.
    Object.defineProperty(server, 'pauseOnConnect', {
      get: () => {
        if (++made === 4) throw new Error('too many open files');
        return true;
      },
    });
    await expect(listenWide(server, '127.0.0.1', 0)).rejects.toThrow('too many open files');
    expect(made).toBe(4);
    const { port } = server.address() as AddressInfo;
    await closeWide(server);
    // Nobody may listen there who shares the port.
    const alone = createServer().listen({ host: '127.0.0.1', port });
    await once(alone, 'listening');
    alone.close();
  },
);
