import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { client, expectError } from '../../support/http.ts';
import { type Service, startService } from '../../support/service.ts';
import { storeState } from '../../support/store-state.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** What a service says once its log is another. */
async function expectRefusal(service: Service, why: RegExp): Promise<void> {
  const alice = client(service.url, await service.token('alice'));
  const add = () => alice('POST', '/plants', { body: '{"id":99,"name":"Oak"}' });
  expect(expectError(await add(), 503, 14)).toContain('try again');
  expectError(await alice('GET', '/plants'), 503, 14);
  await service.logged(({ msg }) => msg === 'the log was replaced');
  expectError(await add(), 503, 14);
  // The log in it is another, and the store as such is there.
  expect(await storeState(service, { broken: 'log_broken', reachable: 'store_reachable' })).toMatchObject({
    ...{ status: 503, store: { detail: expect.stringMatching(why) } },
    ...{ broken: '1', reachable: '1' },
  });
}

async function fill(service: Service): Promise<void> {
  const alice = client(service.url, await service.token('alice'));
  for (const id of [1, 2, 3, 4])
    expect((await alice('POST', '/plants', { body: `{"id":${id},"name":"Fern"}` })).status).toBe(200);
}

// That events are gone, each store's tests show (test/store/restored.ts).
test('a service whose file is replaced by an older one says why it does not serve, and appends nothing', async () => {
  await using service = await startService();
  await fill(service);
  const file = join(service.dataDirectory, 'plantstore.sqlite');
  new DatabaseSync(file, { timeout: 10_000 }).exec(`VACUUM INTO '${file}.backup'`);
  copyFileSync(`${file}.backup`, `${file}.new`);
  renameSync(`${file}.new`, file);
  await sleep(20);
  await expectRefusal(service, /plantstore\.sqlite was replaced or removed; .*start them again/);
});

test('a service whose write-ahead log is removed acknowledges nothing that a kill would lose, and keeps the rest when it stops', async () => {
  const directory = temporaryDirectory(onTestFinished);
  await using service = await startService({ DATA_DIR: directory });
  await fill(service);
  const file = join(directory, 'plantstore.sqlite');
  rmSync(`${file}-wal`);
  await sleep(20);
  await expectRefusal(service, /plantstore\.sqlite-wal was replaced or removed; .*start them again/);
  await service.stop();
  const database = new DatabaseSync(file);
  expect(database.prepare('SELECT count(*) AS events FROM events').get()).toEqual({ events: 4 });
  database.close();
});
