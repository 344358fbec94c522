import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { noteKey, noteSigner } from '../../src/tlog/signer.ts';
import { formatVerifierKey } from '../../src/tlog/verifier-key.ts';
import { keptIn, signCheckpoint } from '../../src/transparency/signed-checkpoint.ts';
import { MemoryTree } from '../support/memory-tree.ts';

let directory: string;
let said: string[];
const passedOver = (why: string) => said.push(why);
beforeEach(() => {
  said = [];
  directory = mkdtempSync(join(tmpdir(), 'plantstore-kept-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const { privateKey } = generateKeyPairSync('ed25519');
const keyOf = (name: string) => ({
  signer: noteSigner(name, privateKey),
  vkey: formatVerifierKey(noteKey(name, privateKey)),
});
const tree = new MemoryTree(Array.from({ length: 9 }, (_, at) => Buffer.from(`${at}`)));
const signed = (size: number) => signCheckpoint(tree, size, keyOf('log.example'));

test('a checkpoint is kept in a folder that is made, for its owner alone, and the next takes its place', async () => {
  const kept = keptIn(join(directory, 'data', 'last'), passedOver);
  const { vkey } = keyOf('log.example');
  expect(await kept.read(vkey)).toBeUndefined();
  for (const size of [3, 9, 7]) {
    const checkpoint = await signed(size);
    await kept.write(checkpoint);
    expect(await kept.read(vkey)).toEqual(checkpoint);
  }
  expect(statSync(join(directory, 'data', 'last')).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(directory, 'data'))).toEqual(['last']);
});

test('instances that share a folder keep theirs at once, and one of them is there', async () => {
  const path = join(directory, 'last');
  const checkpoints = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8, 9].map(signed));
  await Promise.all(checkpoints.map((checkpoint) => keptIn(path, passedOver).write(checkpoint)));
  expect(checkpoints).toContainEqual(await keptIn(path, passedOver).read(keyOf('log.example').vkey));
  expect(readdirSync(directory)).toEqual(['last']);
});

test('what another key, or a log of another name, has signed is not its own; neither is anything else: each is told', async () => {
  const path = join(directory, 'last');
  const kept = keptIn(path, passedOver);
  const { vkey } = keyOf('log.example');
  await kept.write(await signed(3));
  expect(await kept.read(keyOf('other.example').vkey)).toBeUndefined();
  const another = formatVerifierKey(noteKey('log.example', generateKeyPairSync('ed25519').privateKey));
  expect(await kept.read(another)).toBeUndefined();
  writeFileSync(path, readFileSync(path, 'utf8').replace('log.example\n3\n', 'log.example\n4\n'));
  expect(await kept.read(vkey)).toBeUndefined();
  writeFileSync(path, 'nonsense');
  expect(await kept.read(vkey)).toBeUndefined();
  const before = `the log is not compared with the last checkpoint that was signed here, in ${path}: `;
  expect(said).toEqual([
    expect.stringContaining(`${before}it is of the log log.example, and this log is other.example; `),
    expect.stringContaining(`${before}another key signed it; `),
    `${before}it is damaged (the signature of log.example is invalid)`,
    expect.stringContaining(`${before}it is damaged (malformed note: `),
  ]);
});

test('what cannot be kept, or read, is an error', async () => {
  mkdirSync(join(directory, 'last'));
  const kept = keptIn(join(directory, 'last'), passedOver);
  await expect(kept.write(await signed(3))).rejects.toThrow('the checkpoint cannot be stored, so it is not signed: ');
  await expect(kept.read(keyOf('log.example').vkey)).rejects.toThrow(
    `the last checkpoint cannot be read: ${join(directory, 'last')} is a folder, and not a file`,
  );
  expect(readdirSync(directory)).toEqual(['last']);
});
