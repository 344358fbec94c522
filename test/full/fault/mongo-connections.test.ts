import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import type { LoggedEvent } from '../../../src/log/event/event.ts';
import type { Store } from '../../../src/log/store.ts';
import { changesOf } from '../../../src/log/view/projector.ts';
import { HAS_MONGODB, openMongoStore } from '../../store/open-mongo.ts';
import type { OpenedStore } from '../../store/open-store.ts';
import { command } from '../../support/command.ts';
import { added, append, chain, NO_NODES, project } from '../../support/events.ts';
import { readLog, verifyLog } from '../../support/fold.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

/** Calls of a store whose log has two events, of which the read model has the first. */
const CALLS: Record<string, (store: Store, log: readonly LoggedEvent[]) => Promise<unknown>> = {
  head: (store) => store.head(),
  read: (store) => readLog(store),
  append: (store, log) => store.append(chain(log[1]!, [added('alice', 3n)])),
  findByIdempotencyKeys: (store) => store.findByIdempotencyKeys([{ owner: 'alice', idempotencyKey: 'a' }]),
  checkpoint: (store) => store.checkpoint(),
  generation: (store) => store.generation(),
  get: (store) => store.get([{ owner: 'alice', id: 1n }]),
  list: (store) => store.list('alice', undefined, 10),
  snapshot: async (store) => (await store.snapshot()).all()[Symbol.asyncIterator]().next(),
  lease: (store) => store.lease('a', 'me', 1_000),
  advance: (store, log) => store.advance(1, 2, changesOf(log.slice(1)), NO_NODES),
  nodes: (store) => store.nodes(0, 5),
};

/** The connections of one store's driver. */
class Connections {
  /** Commands that the driver has sent. */
  sent = 0;
  /**
   * Counts down with each command: the one with which it gets to 0 is sent to a connection that has just been closed.
   */
  closeAt = 0;
  readonly #made = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    socket.once('connect', () => this.#watch(socket));
  };

  /** Watches all connections that are made from now on. */
  constructor() {
    subscribe('net.client.socket', this.#made);
  }

  /** Takes no notice of further connections. */
  full(): void {
    unsubscribe('net.client.socket', this.#made);
  }

  #watch(socket: Socket): void {
    const write = socket.write.bind(socket) as (chunk: Buffer) => boolean;
    // As it goes when the server dies: the driver hears of it a turn of the event loop later, and writes until then.
    socket.write = (chunk: Buffer) => {
      const isCommand = !chunk.includes('hello') && !chunk.includes('ismaster');
      if (isCommand) this.sent++;
      if (isCommand && --this.closeAt === 0) socket.destroy();
      return write(chunk);
    };
  }
}

describe.runIf(HAS_MONGODB)('connections to MongoDB', () => {
  const opened: OpenedStore[] = [];
  afterAll(() => Promise.all(opened.map(({ cleanup }) => cleanup())));

  async function open() {
    const connections = new Connections();
    const one = await openMongoStore();
    opened.push(one);
    await append(one.store, added('alice', 1n));
    await project(one.store);
    await append(one.store, added('alice', 2n));
    connections.full();
    return { store: one.store, connections, log: await readLog(one.store) };
  }

  test('a call ends even if a connection closes just when it is used, whichever of its commands that hits; the next one is answered', {
    timeout: 400_000,
  }, async () => {
    const faults: { name: string; command: number; setting: Awaited<ReturnType<typeof open>> }[] = [];
    for (const [name, call] of Object.entries(CALLS)) {
      const { store, connections, log } = await open();
      const before = connections.sent;
      await call(store, log);
      const commands = connections.sent - before;
      expect(commands).toBeGreaterThan(0);
      for (let command = 1; command <= commands; command++) faults.push({ name, command, setting: await open() });
    }
    await Promise.all(
      faults.map(async ({ name, command, setting: { store, connections, log } }) => {
        connections.closeAt = command;
        await CALLS[name]!(store, log).catch(() => {});
        expect(connections.closeAt).toBeLessThanOrEqual(0);
        await CALLS[name]!(store, log);
        verifyLog(await readLog(store));
      }),
    );
  });
});

test.skipIf(!HAS_MONGODB)('a command that loses its connection says whose it was, and what to do', async () => {
  const { uri, cleanup } = await openMongoStore();
  const { host, pathname } = new URL(uri);
  const proxy = await TcpProxy.start(Number(host.split(':')[1]));
  const MONGODB_URI = `mongodb://127.0.0.1:${proxy.port}${pathname}?directConnection=true`;
  proxy.fate = (chunk) => (chunk.includes('\x02update\0') ? 'lose request' : 'forward');
  expect(await command(['audit', 'rebuild'], { MONGODB_URI })).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^plantstore: MongoDB: .*closed; run the command again, and plantstore doctor if/),
  });
  await proxy.close();
  await cleanup();
});
