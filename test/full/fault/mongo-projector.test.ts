import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openMongo } from '../../../src/log/mongo/store.ts';
import type { Store } from '../../../src/log/store.ts';
import { changesOf } from '../../../src/log/view/projector.ts';
import { HAS_MONGODB } from '../../store/open-mongo.ts';
import { added, append, deleted, NO_NODES, project } from '../../support/events.ts';
import { fold, readLog, readModel } from '../../support/fold.ts';
import { ReplicaSet } from '../../support/replica-set.ts';
import { type Fate, TcpProxy } from '../../support/tcp-proxy.ts';

const CHILD = fileURLToPath(new URL('../../support/projector-process.ts', import.meta.url));

/** A step of the projector goes from here to the end of the log. */
const CHECKPOINT = 10;
const HEAD = 20;

/** Milliseconds of the lease that the process under test takes. */
const LEASE = 400;

/** The commands of a step, in their order. */
const COMMANDS = [
  ['moves the checkpoint', 'update'],
  ['deletes rows', 'delete'],
  ['inserts rows', 'insert'],
  ['commits', 'commitTransaction'],
] as const;

/** Whether a chunk to the server is this command, in a transaction. */
const isCommand = (chunk: Buffer, name: string): boolean => chunk.includes('txnNumber') && chunk.includes(`${name}\0`);

describe.runIf(HAS_MONGODB)('a projector that dies or freezes on MongoDB', () => {
  let set: ReplicaSet;
  beforeAll(async () => {
    set = await ReplicaSet.start(1);
  });
  afterAll(() => set.remove());

  interface Setting {
    /** Another instance, which takes over. */
    readonly store: Store;
    /** What the instance under test talks through. */
    readonly proxy: TcpProxy;
    readonly child: ChildProcess;
    /** All that it said, once it ended. */
    readonly said: Promise<string[]>;
  }

  /** An instance in the middle of a step: `fate` befalls one of its commands. */
  const inStep = (command: string, fate: Fate, run: (setting: Setting) => Promise<void>) => async () => {
    const uri = set.uri(`plantstore-${randomUUID()}`);
    const store = await openMongo(uri);
    const ids = (from: number) => Array.from({ length: 5 }, (_, index) => BigInt(from + index));
    await append(store, ...ids(0).map((id) => added('alice', id)), ...ids(5).map((id) => added('alice', id)));
    await project(store);
    await append(store, ...ids(0).map((id) => deleted('alice', id)), ...ids(10).map((id) => added('alice', id)));
    const proxy = await TcpProxy.start(set.members[0]!.port);
    proxy.fate = (chunk) => (isCommand(chunk, command) ? fate : 'forward');
    const behind = uri
      .replace(/\/\/[^/]*/, `//127.0.0.1:${proxy.port}`)
      .replace(/replicaSet=.*/, 'directConnection=true');
    const child = spawn(process.execPath, [CHILD, behind, `${LEASE}`], { stdio: ['ignore', 'pipe', 'inherit'] });
    const said = readAll(child);
    try {
      await run({ store, proxy, child, said });
    } finally {
      child.kill('SIGKILL');
      await said;
      await proxy.close();
      await store.close();
    }
  };

  const takeOver = async (store: Store) => {
    while (!(await store.lease('projector', 'successor', 60_000))) await sleep(20);
  };

  const step = async (store: Store) =>
    store.advance(CHECKPOINT, HEAD, changesOf((await readLog(store)).slice(CHECKPOINT)), NO_NODES);

  const expectFolded = async (store: Store) => {
    const rows = fold(await readLog(store)).get('alice');
    expect(await readModel(store, 'alice')).toEqual({ rows, position: HEAD });
  };

  describe.for(COMMANDS)('before the command that %s', ([, command]) => {
    test(
      'killed: its successor goes on at once',
      { timeout: 20_000 },
      inStep(command, 'hold', async ({ store, proxy, child }) => {
        await proxy.holds();
        child.kill('SIGKILL');
        await takeOver(store);
        expect(await step(store)).toBe(true);
        await expectFolded(store);
      }),
    );

    test(
      'frozen: its successor goes on at once, and when it wakes its step does nothing',
      { timeout: 20_000 },
      inStep(command, 'hold', async ({ store, proxy, child, said }) => {
        await proxy.holds();
        child.kill('SIGSTOP');
        await takeOver(store);
        expect(await step(store)).toBe(true);
        proxy.release();
        child.kill('SIGCONT');
        proxy.fate = () => 'forward';
        expect(await said).toEqual(['leased', 'false']);
        await expectFolded(store);
      }),
    );
  });

  test(
    'killed after its commit: the step is done, and its successor is told so',
    inStep('commitTransaction', 'lose reply', async ({ store, child }) => {
      while ((await store.checkpoint()) !== HEAD);
      child.kill('SIGKILL');
      await takeOver(store);
      expect(await step(store)).toBe(false);
      await expectFolded(store);
    }),
  );

  test(
    'the answer to a commit that is lost once is asked for again',
    inStep('', 'forward', async ({ store, proxy, said }) => {
      let commits = 0;
      proxy.fate = (chunk) => (isCommand(chunk, 'commitTransaction') && commits++ === 0 ? 'lose reply' : 'forward');
      expect(await said).toEqual(['leased', 'true']);
      expect(commits).toBe(2);
      await expectFolded(store);
    }),
  );

  test(
    'killed, and its first command comes in after its session was ended: the successor ends it again',
    { timeout: 20_000 },
    inStep('update', 'hold', async ({ store, proxy, child }) => {
      await proxy.holds();
      child.kill('SIGKILL');
      await takeOver(store);
      proxy.release();
      while (await noTransaction(set)) await sleep(5);
      expect(await step(store)).toBe(true);
      await expectFolded(store);
    }),
  );

  test(
    'a projector that is alive, but slower than its lease, loses nothing: its step or its successor’s is done, not both',
    inStep('commitTransaction', 'hold', async ({ store, proxy, said }) => {
      await proxy.holds();
      await takeOver(store);
      const theirs = step(store);
      proxy.fate = () => 'forward';
      proxy.release();
      const [, outcome] = await said;
      expect([outcome, `${await theirs}`].toSorted()).toEqual(['false', 'true']);
      await expectFolded(store);
    }),
  );
});

async function noTransaction(set: ReplicaSet): Promise<boolean> {
  const { transactions } = await set.command({ serverStatus: 1 });
  return (transactions as { currentOpen: number }).currentOpen === 0;
}

async function readAll(child: ChildProcess): Promise<string[]> {
  let output = '';
  child.stdout!.on('data', (chunk: Buffer) => {
    output += chunk;
  });
  await once(child, 'close');
  return output.split('\n').filter((line) => line !== '');
}
