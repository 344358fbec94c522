import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { refuseForeignWal } from '../../src/log/sqlite/connection.ts';
import { lockDataDirectory } from '../../src/log/sqlite/lock.ts';
import { DATABASE_FILE, openSqlite } from '../../src/log/sqlite/store.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let directory: string;

beforeEach(() => {
  directory = temporaryDirectory(onTestFinished);
});

/**
 * A process that holds the lock until it is killed, however careless it is about it: it tries again, and forgets it.
 */
async function holder(): Promise<ChildProcess> {
  const module = new URL('../../src/log/sqlite/lock.ts', import.meta.url);
  const script = `import { lockDataDirectory } from '${module}';
    lockDataDirectory(process.argv[1]);
    try {
      lockDataDirectory(process.argv[1]);
    } catch {
      globalThis.gc();
    }
    console.log('locked');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--expose-gc', '--input-type=module', '-e', script, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await Promise.race([once(child.stdout!, 'data'), once(child, 'exit')]);
  expect(String(line)).toBe('locked\n');
  return child;
}

test('a data directory is for one service at a time, and free again when it is released', () => {
  const release = lockDataDirectory(directory);
  expect(() => lockDataDirectory(directory)).toThrow(directory);
  release();
  const again = lockDataDirectory(directory);
  release();
  expect(() => lockDataDirectory(directory)).toThrow('another process of plantstore uses');
  again();
});

test('another process is kept out until the one that holds the lock dies, even by SIGKILL', async () => {
  const child = await holder();
  try {
    expect(() => lockDataDirectory(directory)).toThrow(directory);
  } finally {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  lockDataDirectory(directory)();
});

test('a database is for one service at a time, also where another data directory has a link to it', async () => {
  const other = join(directory, 'other');
  mkdirSync(other);
  await openSqlite(directory).close();
  symlinkSync(join(directory, DATABASE_FILE), join(other, DATABASE_FILE));
  for (const [first, second] of [
    [directory, other],
    [other, directory],
  ] as const) {
    const release = lockDataDirectory(first);
    expect(() => lockDataDirectory(second)).toThrow('another process of plantstore uses');
    release();
    lockDataDirectory(second)();
  }
});

test('a folder may have the databases of services that have links to them, each for one service at a time', async () => {
  const [first, second, third] = ['first', 'second', 'third'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [first, second, third]) mkdirSync(folder);
  for (const [folder, name] of [
    [first, 'a.sqlite'],
    [second, 'b.sqlite'],
    [third, 'a.sqlite'],
  ] as const) {
    writeFileSync(join(directory, name), '');
    symlinkSync(join(directory, name), join(folder, DATABASE_FILE));
  }
  // Also where the link is beside it.
  symlinkSync(join(directory, 'b.sqlite'), join(directory, DATABASE_FILE));
  const releases = [lockDataDirectory(first), lockDataDirectory(second)];
  for (const taken of [third, directory])
    expect(() => lockDataDirectory(taken)).toThrow('another process of plantstore uses');
  for (const release of releases) release();
  for (const free of [third, directory]) lockDataDirectory(free)();
});

test('a database is refused under any of its names while it has two, and accepted again with one', async () => {
  await openSqlite(directory).close();
  const [path, second] = [join(directory, DATABASE_FILE), join(directory, 'second.sqlite')];
  linkSync(path, second);
  for (const name of [path, second]) expect(() => refuseForeignWal(name)).toThrow(`${name} has 2 names (hard links)`);
  rmSync(second);
  refuseForeignWal(path);
});

test('the lock keeps nobody from reading', async () => {
  const release = lockDataDirectory(directory);
  const store = openSqlite(directory);
  const reader = openSqlite(directory, { readOnly: true });
  expect((await reader.head()).position).toBe(0);
  await reader.close();
  await store.close();
  release();
});
