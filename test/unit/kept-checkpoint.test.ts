import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { tryLock } from '../../src/files.ts';
import { EMPTY_HEAD } from '../../src/log/event/event.ts';
import { noteSigner } from '../../src/tlog/signer.ts';
import { signNext } from '../../src/transparency/checkpoints.ts';
import { keptIn, type SignedCheckpoint, signCheckpoint } from '../../src/transparency/signed-checkpoint.ts';
import { MemoryTree } from '../support/memory-tree.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let directory: string;
let said: string[];
const passedOver = (why: string) => said.push(why);
beforeEach(() => {
  said = [];
  directory = temporaryDirectory(onTestFinished);
});

const { privateKey } = generateKeyPairSync('ed25519');
const signerOf = (name: string) => noteSigner(name, privateKey);
const { key } = signerOf('log.example');
const tree = new MemoryTree(Array.from({ length: 9 }, (_, at) => Buffer.from(`${at}`)));
const signed = (size: number) => signCheckpoint(tree, size, signerOf('log.example'));

test('a checkpoint is kept in a folder that is made, for its owner alone, and the next takes its place', async () => {
  const kept = keptIn(join(directory, 'data', 'last'), passedOver);
  expect(await kept.read(key)).toBeUndefined();
  let before: SignedCheckpoint | undefined;
  for (const size of [3, 7, 9]) {
    const checkpoint = await signed(size);
    expect(await kept.replace(checkpoint, before, key)).toBeUndefined();
    expect(await kept.read(key)).toEqual(checkpoint);
    before = checkpoint;
  }
  for (const file of ['last', 'last.lock']) expect(statSync(join(directory, 'data', file)).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(directory, 'data'))).toEqual(['last', 'last.lock']);
});

test('processes that are killed leave one draft at most, and the next checkpoint takes its place', async () => {
  const path = join(directory, 'last');
  const unlock = tryLock(`${path}.lock`)!;
  const keeping = keptIn(path, passedOver).replace(await signed(3), undefined, key);
  await sleep(50);
  // One that is killed now has written nothing.
  expect(readdirSync(directory)).toEqual(['last.lock', 'last.lock-journal']);
  unlock();
  expect(await keeping).toBeUndefined();
  writeFileSync(`${path}.draft`, 'of one that was killed', { mode: 0o400 });
  expect(await keptIn(path, passedOver).replace(await signed(7), await signed(3), key)).toBeUndefined();
  expect(await keptIn(path, passedOver).read(key)).toEqual(await signed(7));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(directory)).toEqual(['last', 'last.lock']);
});

test('of processes that share a folder and keep theirs at once, none replaces what it has not compared with', async () => {
  const path = join(directory, 'last');
  const checkpoints = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8, 9].map(signed));
  const others = await Promise.all(checkpoints.map((next) => keptIn(path, passedOver).replace(next, undefined, key)));
  const first = (await keptIn(path, passedOver).read(key))!;
  expect(others.filter((other) => other === undefined)).toHaveLength(1);
  for (const other of others) expect([undefined, first]).toContainEqual(other);
  const [, , , , , , , eighth, ninth] = checkpoints;
  const kept = keptIn(path, passedOver);
  expect(await kept.replace(ninth!, first, key)).toBeUndefined();
  expect(await kept.replace(eighth!, first, key)).toEqual(ninth);
  expect(await kept.read(key)).toEqual(ninth);
  expect(readdirSync(directory)).toEqual(['last', 'last.lock']);
});

test('a process that is slower than another signs what that one has, or nothing', async () => {
  const kept = () => keptIn(join(directory, 'last'), passedOver);
  const signer = async () => signerOf('log.example');
  const headAt = (position: number) => async () => ({ ...EMPTY_HEAD, position });
  const slow = (...heads: number[]) => {
    let looks = 0;
    // Another process signs after its first look.
    const head = async () => {
      const position = heads[looks++]!;
      if (looks === 1) await signNext({ head: headAt(9), tree: tree, signer, kept: kept() }, undefined);
      return headAt(position)();
    };
    return signNext({ head, tree: tree, signer, kept: kept() }, undefined);
  };
  expect(await slow(7, 9)).toEqual(await signed(9));
  rmSync(join(directory, 'last'));
  await expect(slow(7, 7)).rejects.toThrow('a checkpoint of 9 events was signed, and the log has 7');
  expect(await kept().read(key)).toEqual(await signed(9));
});

test('a process that is stopped while it keeps one holds up the others, who say so', async () => {
  const path = join(directory, 'last');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const unlock = tryLock(`${path}.lock`)!;
  const refused = expect(keptIn(path, passedOver).replace(await signed(3), undefined, key)).rejects.toThrow(
    `another process, which may be stopped, holds the lock ${path}.lock`,
  );
  while (vi.getTimerCount() === 0) await new Promise((resolve) => setImmediate(resolve));
  await vi.advanceTimersByTimeAsync(6_000);
  await refused;
  unlock();
  expect(await keptIn(path, passedOver).replace(await signed(3), undefined, key)).toBeUndefined();
});

test('what another key, or a log of another name, has signed is not its own; neither is anything else: each is told', async () => {
  const path = join(directory, 'last');
  const kept = keptIn(path, passedOver);
  await kept.replace(await signed(3), undefined, key);
  expect(await kept.read(signerOf('other.example').key)).toBeUndefined();
  const another = noteSigner('log.example', generateKeyPairSync('ed25519').privateKey).key;
  expect(await kept.read(another)).toBeUndefined();
  writeFileSync(path, readFileSync(path, 'utf8').replace('log.example\n3\n', 'log.example\n4\n'));
  expect(await kept.read(key)).toBeUndefined();
  writeFileSync(path, 'nonsense');
  expect(await kept.read(key)).toBeUndefined();
  const before = `the log is not compared with the last checkpoint that was signed here, in ${path}: `;
  expect(said).toEqual([
    expect.stringContaining(`${before}it is of the log log.example, and this log is other.example; `),
    expect.stringContaining(`${before}another key signed it; `),
    `${before}it is damaged (the signature of log.example is invalid)`,
    expect.stringContaining(`${before}it is damaged (malformed note: `),
  ]);
});

test('what is passed over is told once, however often it is tried to sign in vain', async () => {
  const path = join(directory, 'last');
  await keptIn(path, passedOver).replace(await signed(3), undefined, key);
  mkdirSync(`${path}.draft`);
  const kept = keptIn(path, passedOver);
  const signer = async () => signerOf('other.example');
  const head = async () => ({ ...EMPTY_HEAD, position: 9 });
  for (let attempt = 0; attempt < 3; attempt++)
    await expect(signNext({ head, tree, signer, kept }, undefined)).rejects.toThrow('cannot be stored');
  expect(said).toEqual([expect.stringContaining('it is of the log log.example, and this log is other.example; ')]);
});

test('whoever signs under two names in turn is told each time', async () => {
  const path = join(directory, 'last');
  const [one, other] = [signerOf('log.example'), signerOf('other.example')];
  let size = 1;
  for (const signer of [one, other, one, other]) {
    const kept = keptIn(path, passedOver);
    const head = async () => ({ ...EMPTY_HEAD, position: size });
    expect(await signNext({ head, tree, signer: async () => signer, kept }, undefined)).toMatchObject({ size });
    size++;
  }
  expect(said).toEqual([
    expect.stringContaining('it is of the log log.example, and this log is other.example; '),
    expect.stringContaining('it is of the log other.example, and this log is log.example; '),
    expect.stringContaining('it is of the log log.example, and this log is other.example; '),
  ]);
});

test('a lock that cannot be taken is named', async () => {
  const path = join(directory, 'last');
  mkdirSync(`${path}.lock`);
  await expect(keptIn(path, passedOver).replace(await signed(3), undefined, key)).rejects.toThrow(
    `the checkpoint cannot be stored, so it is not signed: ${path}.lock cannot be used (unable to open database file): it has to be a file`,
  );
  expect(readdirSync(directory)).toEqual(['last.lock']);
});

test('what cannot be kept, or read, is an error', async () => {
  mkdirSync(join(directory, 'last'));
  const kept = keptIn(join(directory, 'last'), passedOver);
  await expect(kept.replace(await signed(3), undefined, key)).rejects.toThrow(
    'the checkpoint cannot be stored, so it is not signed: ',
  );
  await expect(kept.read(key)).rejects.toThrow(
    `the last checkpoint cannot be read: ${join(directory, 'last')} is a folder, and not a file`,
  );
  expect(readdirSync(directory)).toEqual(['last', 'last.lock']);
});

test('what a log of another name, or another key, has signed stays beside the next, and is compared with again', async () => {
  const path = join(directory, 'last');
  const kept = keptIn(path, passedOver);
  const [mine, other] = [signerOf('log.example'), signerOf('other.example')];
  const signedBy = (signer: typeof mine, size: number) => signCheckpoint(tree, size, signer);
  const seventh = await signedBy(mine, 7);
  await kept.replace(seventh, undefined, mine.key);
  expect(await kept.replace(await signedBy(other, 3), undefined, other.key)).toBeUndefined();
  expect(await kept.read(mine.key)).toEqual(seventh);
  expect(await kept.read(other.key)).toEqual(await signedBy(other, 3));
  // One that was compared with nothing, or with an earlier one, does not replace it there.
  expect(await kept.replace(await signedBy(mine, 5), undefined, mine.key)).toEqual(seventh);
  expect(await kept.replace(await signedBy(mine, 5), await signedBy(mine, 3), mine.key)).toEqual(seventh);
  expect(await kept.replace(await signedBy(mine, 9), seventh, mine.key)).toBeUndefined();
  expect(await kept.read(mine.key)).toEqual(await signedBy(mine, 9));
  expect(await kept.read(other.key)).toEqual(await signedBy(other, 3));
  // As a process leaves it that ends amid this.
  const last = readFileSync(path);
  rmSync(path);
  expect(await kept.read(other.key)).toEqual(await signedBy(other, 3));
  // The earlier one beside it is gone, so that it does not hide the loss of this one.
  writeFileSync(path, last.subarray(1));
  expect(await kept.read(mine.key)).toBeUndefined();
  expect(said).toEqual([
    expect.stringContaining('it is of the log other.example'),
    expect.stringContaining('it is of the log log.example'),
    expect.stringContaining('it is damaged'),
  ]);
});

test('while other processes keep signing, an attempt to sign ends', async () => {
  const signer = async () => signerOf('log.example');
  let others = 0;
  const kept = {
    read: async () => undefined,
    replace: async () => {
      // Nothing else would end it: it never waits for more than a step of this process.
      if (others === 100) throw new Error('it goes on');
      return signed((others++ % 8) + 1);
    },
  };
  const head = async () => ({ ...EMPTY_HEAD, position: 9 });
  await expect(signNext({ head, tree, signer, kept }, undefined)).rejects.toThrow('other processes keep signing');
  expect(others).toBe(11);
});
