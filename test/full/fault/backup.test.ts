import { randomUUID } from 'node:crypto';
import { copyFileSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { added, append } from '../../support/events.ts';
import { client, type Send } from '../../support/http.ts';
import { type Ended, plantstore, run } from '../../support/run.ts';
import { type Service, startService } from '../../support/service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const OPERATIONS = readFileSync('docs/operations.md', 'utf8');

/** The commands of a chapter of docs/operations.md, in their order. */
const commandsOf = (chapter: string): string[] =>
  OPERATIONS.split(/^## /m)
    .find((text) => text.startsWith(`${chapter}\n`))!
    .matchAll(/^```sh\n(.*?)^```$/gms)
    .map(([, commands]) => commands!)
    .toArray();

const [backUpFile, backUpEvents] = commandsOf('Back up') as [string, string];
const [restoreFile, restoreEvents] = commandsOf('Restore') as [string, string];

/** Runs commands of the documentation with bash, as they are printed. */
const shell = (commands: string, environment: Readonly<Record<string, string>>): Promise<Ended> =>
  run(
    'bash',
    ['-euo', 'pipefail', '-c', `npx() { shift; node bin/plantstore.js "$@"; }\nnode() { "$NODE" "$@"; }\n${commands}`],
    { NODE: process.execPath, ...environment },
  );

let root: string;
let backup: string;
beforeEach(() => {
  root = temporaryDirectory(onTestFinished);
  backup = temporaryDirectory(onTestFinished);
});
/** Adds plants one after the other until what it is given is over; returns how many were acknowledged. */
async function addDuring<T>(send: Send, first: number, work: Promise<T>): Promise<{ added: number; result: T }> {
  let over = false;
  void work.finally(() => {
    over = true;
  });
  let added = 0;
  for (let id = first; !over; id++, added++)
    expect((await send('POST', '/plants', { body: `{"id":${id},"name":"Plant ${id}"}` })).status).toBe(200);
  return { added, result: await work };
}

const namesOf = async (service: Service): Promise<string[]> => {
  const { text } = await client(service.url, await service.token('alice'))('GET', '/plants');
  return JSON.parse(text).map(({ name }: { name: string }) => name);
};

/**
 * A service that was backed up with these commands while it was written to. Returns the plants before, and the most
 * there can be.
 */
async function backedUp(commands: string): Promise<{ sure: number; most: number }> {
  const data = join(root, 'data');
  await using service = await startService({ DATA_DIR: data });
  const send = client(service.url, await service.token('alice'));
  const before = await addDuring(send, 0, new Promise((resolve) => setTimeout(resolve, 200)));
  const ran = shell(commands, { DATA_DIR: data, BACKUP: backup, URL: service.url });
  const { added, result } = await addDuring(send, before.added, ran);
  expect(result).toMatchObject({ code: 0, stderr: '' });
  return { sure: before.added, most: before.added + added };
}

/** Expects that the restored service has all that was there before the backup, in order, and takes new plants. */
async function expectRestored(
  environment: Readonly<Record<string, string>>,
  { sure, most }: { sure: number; most: number },
) {
  await using service = await startService(environment);
  const names = await namesOf(service);
  expect(names).toEqual(Array.from(names, (_, id) => `Plant ${id}`));
  expect(names.length).toBeGreaterThanOrEqual(sure);
  expect(names.length).toBeLessThanOrEqual(most);
  const send = client(service.url, await service.token('alice'));
  expect((await send('POST', '/plants', { body: '{"id":-1,"name":"Oak"}' })).status).toBe(200);
}

const VERIFIED =
  /^positions +yes\nchain +yes\ncontents +yes\nread_model +yes\ndecisions +yes\n(storage +yes\n)?tree +yes\ncheckpoint +yes\n/m;

describe('a backup of a service at work is restored, verifies with the checkpoint that was signed, and serves', () => {
  test('SQLite: the file', async () => {
    const plants = await backedUp(backUpFile);
    const restored = { DATA_DIR: join(root, 'restored') };
    const { code, stdout } = await shell(restoreFile, { BACKUP: backup, ...restored });
    expect(code).toBe(0);
    expect(stdout).toMatch(VERIFIED);
    expect((statSync(join(restored.DATA_DIR, 'plantstore.sqlite')).mode & 0o777).toString(8)).toBe('600');
    await expectRestored(restored, plants);
  });

  const stores = { SQLite: {}, MongoDB: { MONGODB_URI: inject('mongodbUri') } };
  test.for(Object.entries(stores))(
    '%s: the events',
    async ([name, { MONGODB_URI }]: [string, { MONGODB_URI?: string | undefined }], { skip }) => {
      if (name === 'MongoDB' && MONGODB_URI === undefined) skip();
      const plants = await backedUp(backUpEvents);
      const uri = MONGODB_URI?.replace('/?', `/plantstore-${randomUUID()}?`);
      const restored = { DATA_DIR: join(root, 'restored'), ...(uri !== undefined && { MONGODB_URI: uri }) };
      const { code, stdout } = await shell(restoreEvents, { BACKUP: backup, ...restored });
      expect(code).toBe(0);
      expect(stdout).toMatch(VERIFIED);
      await expectRestored(restored, plants);
    },
  );
});

test('a backup replaces nothing, is its owner’s alone, and is refused for MongoDB and where there is no store', async () => {
  const data = { DATA_DIR: join(root, 'data') };
  const file = join(backup, 'plants.sqlite');
  const missing = await plantstore(['backup', file], data);
  expect(missing).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('there is no plant store in') });
  const store = openSqlite(data.DATA_DIR);
  const [event] = await append(store, added('alice', 1n));
  await store.close();
  const made = await plantstore(['backup', file], data);
  expect(made).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(made.stdout)).toMatchObject({ position: 1, hash: Buffer.from(event!.hash).toString('hex') });
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
  expect(readdirSync(backup)).toEqual(['plants.sqlite']);
  const before = readFileSync(file);
  const again = await plantstore(['backup', file], data);
  expect(again).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('exists already') });
  expect(readFileSync(file).equals(before)).toBe(true);
  for (const [place, why] of [
    [join(backup, 'missing', 'other'), 'no such file or directory'],
    [join(file, 'other'), 'not a directory'],
  ] as const)
    expect(await plantstore(['backup', place], data)).toMatchObject({
      code: 1,
      stderr: `plantstore: ${place}: ${why}\n`,
    });
  const mongo = await plantstore(['backup', join(backup, 'other')], { ...data, MONGODB_URI: 'mongodb://localhost' });
  expect(mongo).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('mongodump') });
  expect(readdirSync(backup)).toEqual(['plants.sqlite']);
});

test.skipIf(process.platform !== 'linux')('a disk that fills up leaves no backup', async () => {
  const data = { DATA_DIR: join(root, 'data') };
  const store = openSqlite(data.DATA_DIR);
  // More than SQLite writes at the end, from memory.
  const long = 'x'.repeat(1_000);
  await append(store, ...Array.from({ length: 2_000 }, (_, id) => added('alice', BigInt(id), long, long)));
  await store.close();
  const { code, stdout, stderr } = await run(
    'prlimit',
    ['--fsize=65536:', process.execPath, 'bin/plantstore.js', 'backup', join(backup, 'plants.sqlite')],
    data,
  );
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(
    /plants\.sqlite cannot be used, because its disk is full or broken \((disk I\/O error|database or disk is full)\)/,
  );
  expect(readdirSync(backup)).toEqual([]);
});

test('a backup in the place of a database whose service was killed is not opened with what that left', async () => {
  const data = join(root, 'data');
  const environment = { DATA_DIR: data, BACKUP: backup };
  const service = await startService({ DATA_DIR: data });
  const send = client(service.url, await service.token('alice'));
  const add = async (id: number) =>
    expect((await send('POST', '/plants', { body: `{"id":${id},"name":"Plant ${id}"}` })).status).toBe(200);
  await add(0);
  expect(await shell(backUpFile, environment)).toMatchObject({ code: 0 });
  await add(1);
  await service.kill();
  const file = join(data, 'plantstore.sqlite');
  copyFileSync(join(backup, 'plantstore.sqlite'), file);
  const ports = { PORT: '0', GRPC_PORT: '0', ADMIN_PORT: '0' };
  for (const command of [['serve'], ['audit', 'verify'], ['backup', join(backup, 'again.sqlite')], ['doctor']]) {
    const { code, stdout, stderr } = await plantstore(command, { ...environment, ...ports });
    expect(code).toBe(1);
    expect(stdout + stderr).toContain(`${file} is a backup, and ${file}-wal is of the database that it replaced`);
  }
  expect(await shell(restoreFile, environment)).toMatchObject({ code: 0, stderr: '' });
  await expectRestored({ DATA_DIR: data }, { sure: 1, most: 1 });
});
