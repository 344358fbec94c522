import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDevelopmentIssuer } from '../../../src/auth/development.ts';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import type { Store } from '../../../src/log/store.ts';
import { readLog, verifyLog } from '../../support/fold.ts';
import { client, type Send } from '../../support/http.ts';
import { type Service, startService } from '../../support/service.ts';

const CLOCK = fileURLToPath(new URL('../../support/clock.ts', import.meta.url));
const SECOND = 1_000;
const DAY = 86_400 * SECOND;

let directory: string;
let clockFile: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'plantstore-clock-'));
  clockFile = join(directory, 'clock');
});
afterEach(() => rmSync(directory, { recursive: true }));

const startWithClock = (environment: Readonly<Record<string, string>> = {}) =>
  startService({ DATA_DIR: directory, NODE_OPTIONS: `--import=${CLOCK}`, CLOCK_FILE: clockFile, ...environment });

/** Sets the service's clock forth or back. */
async function jump(service: Service, milliseconds: number): Promise<void> {
  const before = service.output;
  writeFileSync(clockFile, String(milliseconds));
  process.kill(service.pid, 'SIGWINCH');
  while (service.output === before || !service.output.includes('clock jumped')) await sleep(5);
}

const token = async (ttl: number) =>
  (await openDevelopmentIssuer(directory)).mintToken({ owner: 'alice', ownerClaim: 'sub', ttl });

const add = async (send: Send, id: number): Promise<number> =>
  (await send('POST', '/plants', { body: `{"id":${id},"name":"Fern"}` })).status;

/** Resolves when the read model holds all of the log. */
async function projected(store: Store): Promise<void> {
  while ((await store.checkpoint()) < (await store.head()).position) await sleep(20);
}

test('time follows order whatever the clock does, and the read model goes on, also after a restart', async () => {
  const first = await startWithClock();
  const alice = client(first.url, await token(10 * (DAY / SECOND)));
  const start = Date.now();
  for (const [id, milliseconds] of [0, DAY, -2 * DAY, DAY / 2].entries()) {
    await jump(first, milliseconds);
    expect(await add(alice, id)).toBe(200);
  }
  const store = openSqlite(directory, { readOnly: true });
  await projected(store);
  const times = (await readLog(store)).map(({ time }) => time);
  expect(times[1]).toBeGreaterThanOrEqual(start + DAY);
  expect(times.slice(2)).toEqual([times[1], times[1]]);
  await jump(first, 3 * DAY);
  expect(await add(alice, 4)).toBe(200);
  await projected(store);
  await first.kill();
  // Its clock is right again, so for days the lease that the first one left behind would seem to last.
  await using second = await startService({ DATA_DIR: directory });
  expect(await add(client(second.url, await token(60)), 5)).toBe(200);
  await projected(store);
  verifyLog(await readLog(store));
  await store.close();
});

test('a token is judged by the clock as it is now, also one that was seen before', async () => {
  await using service = await startWithClock();
  const alice = client(service.url, await token(3_600));
  expect(await add(alice, 1)).toBe(200);
  await jump(service, DAY);
  expect(await add(alice, 2)).toBe(401);
  await jump(service, -DAY);
  expect(await add(alice, 2)).toBe(200);
});

test.skipIf(process.platform !== 'linux')(
  'a clock that is set back while the store fails makes nobody wait longer',
  async () => {
    await using service = await startWithClock();
    const alice = client(service.url, await token(10 * (DAY / SECOND)));
    expect(await add(alice, 1)).toBe(200);
    // A full disk: no file may grow.
    execFileSync('prlimit', ['--pid', String(service.pid), '--fsize=0:']);
    const refused = add(alice, 2);
    await sleep(SECOND);
    await jump(service, -DAY);
    expect(await refused).toBe(503);
  },
);
