import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openMongo } from '../../../src/log/mongo/store.ts';
import { DATABASE_FILE, openSqlite } from '../../../src/log/sqlite/store.ts';
import type { Store } from '../../../src/log/store.ts';
import { HAS_MONGODB } from '../../store/open-mongo.ts';
import { command } from '../../support/command.ts';
import { fold, readLog, verifyLog } from '../../support/fold.ts';
import { freePort } from '../../support/free-port.ts';
import { client, expectError, type Reply, type RequestParts, type Send } from '../../support/http.ts';
import { fetches, ReplicaSet } from '../../support/replica-set.ts';
import { plantstore } from '../../support/run.ts';
import { type Service, startService } from '../../support/service.ts';
import { count } from '../../support/soak.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const CLIENTS = 8;

const NO_ANSWER: Reply = { status: 0, headers: {}, text: '' };

/** The client of a service that may be away: then it gets NO_ANSWER, a moment later. */
const patient =
  (send: Send): Send =>
  (...request) =>
    send(...request).catch(() => sleep(20, NO_ANSWER));

/** What callers saw of adds and lists while something happened to the store. */
class Load {
  /** Names of the plants whose adds were acknowledged. */
  readonly acknowledged = new Set<string>();
  /** Names of the plants whose adds were answered with 503, or not at all. */
  readonly refused = new Set<string>();
  /** Answers by method and status. */
  readonly answers = new Map<string, number>();
  /** Why requests were refused. */
  readonly reasons = new Set<unknown>();
  /** The longest that anybody waited for an answer, in milliseconds. */
  longest = 0;
  readonly #send: Send;
  readonly #clients: Promise<unknown>;
  #running = true;
  #id = 0;

  constructor(send: Send) {
    this.#send = send;
    this.#clients = Promise.all(Array.from({ length: CLIENTS }, (_, client) => this.#client(client % 2 === 0)));
  }

  /** Resolves when so many more adds were acknowledged. Rejects when an answer was none that there may be. */
  async goesOn(more: number): Promise<void> {
    const enough = this.acknowledged.size + more;
    while (this.acknowledged.size < enough) await Promise.race([sleep(20), this.#clients]);
  }

  /** Ends it, and tells what callers saw. */
  async end(what: string): Promise<void> {
    this.#running = false;
    await this.#clients;
    console.log(`${what}: ${JSON.stringify(Object.fromEntries(this.answers))}, longest ${this.longest.toFixed(0)} ms`);
  }

  /** Adds plants and lists them. Every other client insists on each plant until it is told that it was added. */
  async #client(insists: boolean): Promise<void> {
    while (this.#running) {
      const name = `plant ${this.#id++}`;
      const headers = { 'idempotency-key': `"${name}"` };
      const body = JSON.stringify({ id: this.#id, name });
      let status: number;
      do {
        ({ status } = await this.#answer('POST', '/plants', { headers, body }));
        (status === 200 ? this.acknowledged : this.refused).add(name);
      } while (insists && status !== 200 && this.#running);
      await this.#answer('GET', '/plants?limit=1');
    }
  }

  async #answer(method: string, path: string, parts: RequestParts = {}): Promise<Reply> {
    const start = performance.now();
    const reply = await this.#send(method, path, parts);
    this.longest = Math.max(this.longest, performance.now() - start);
    const seen = `${method} ${reply.status}`;
    this.answers.set(seen, (this.answers.get(seen) ?? 0) + 1);
    if (reply.status !== 200 && reply !== NO_ANSWER) {
      expectError(reply, 503, 14);
      this.reasons.add(reply.headers['plantstore-reason']);
      expect(reply.headers['retry-after']).toMatch(/^\d+$/);
    }
    return reply;
  }
}

/** Expects a log that holds what was acknowledged, once, and nothing but that and what might have been applied. */
async function expectNothingLost(store: Store, service: Service, { acknowledged, refused }: Load): Promise<void> {
  const events = await readLog(store);
  verifyLog(events);
  const names = (fold(events).get('alice') ?? []).map(({ name }) => name);
  const kept = new Set(names);
  expect(kept.size).toBe(names.length);
  expect([...acknowledged].filter((name) => !kept.has(name))).toEqual([]);
  expect(names.filter((name) => !acknowledged.has(name) && !refused.has(name))).toEqual([]);
  const { text } = await client(service.url, await service.token('alice'))('GET', '/plants');
  expect(JSON.parse(text)).toEqual(names.map((name) => ({ name })));
}

/** Expects that the loops which failed again and again have each fault in the log once in half a minute. */
async function expectSparing(service: Service): Promise<void> {
  await expect.poll(() => service.metric('plantstore_store_faults_total'), { timeout: 20_000 }).toBeGreaterThan(20);
  const lines = service.logs.filter(({ msg }) => msg === 'the store failed');
  expect(lines).not.toEqual([]);
  const faults = Map.groupBy(lines, ({ err }) => {
    const { message, errcode } = err as { message: string; errcode: number };
    return `${message} ${errcode}`;
  });
  for (const [, written] of faults) {
    const times = written.map(({ time }) => Date.parse(String(time)));
    for (let line = 1; line < times.length; line++) expect(times[line]! - times[line - 1]!).toBeGreaterThan(29_000);
  }
}

test.skipIf(process.platform !== 'linux')(
  'a full disk: adds are refused with 503 and lists go on; with room again adds do too, without a restart',
  async () => {
    const directory = temporaryDirectory(onTestFinished);
    await using service = await startService({ DATA_DIR: directory });
    const limitFiles = (bytes: number | 'unlimited') =>
      execFileSync('prlimit', ['--pid', String(service.pid), `--fsize=${bytes}:`]);
    const send = client(service.url, await service.token('alice'));
    const load = new Load(send);
    await load.goesOn(50);
    limitFiles(statSync(join(directory, `${DATABASE_FILE}-wal`)).size);
    while (!load.answers.has('POST 503')) await sleep(20);
    const before = load.acknowledged.size;
    await expectSparing(service);
    expect((await send('GET', '/plants')).status).toBe(200);
    expect(load.answers.has('GET 503')).toBe(false);
    limitFiles('unlimited');
    await load.goesOn(50);
    expect(load.acknowledged.size).toBeGreaterThan(before);
    await load.end('disk full');
    // The database says that it has written nothing, so nobody is left in doubt.
    expect([...load.reasons]).toEqual(['STORE_UNAVAILABLE']);
    expect(await plantstore(['audit', 'verify'], { DATA_DIR: directory })).toMatchObject({ code: 0 });
    const store = openSqlite(directory, { readOnly: true });
    await expectNothingLost(store, service, load);
    await store.close();
  },
);

test('SQLite under a service that is killed again and again: nothing acknowledged is lost, and nothing invented', {
  timeout: count(300_000, 1_800_000),
}, async () => {
  const environment = { DATA_DIR: temporaryDirectory(onTestFinished), PORT: `${await freePort()}` };
  let service = await startService(environment);
  const load = new Load(patient(client(service.url, await service.token('alice'))));
  for (let round = 0; round < count(5, 100); round++) {
    await load.goesOn(20);
    await sleep(Math.random() * 170);
    await service.kill();
    expect(await command(['audit', 'verify'], environment)).toMatchObject({ code: 0 });
    service = await startService(environment);
  }
  await load.goesOn(20);
  await load.end('killed');
  const store = openSqlite(environment.DATA_DIR, { readOnly: true });
  await expectNothingLost(store, service, load);
  await store.close();
  await service.stop();
});

const frozen = async ({ members: [mongod] }: ReplicaSet) => {
  mongod!.signal('SIGSTOP');
  await sleep(count(3_000, 30_000));
  mongod!.signal('SIGCONT');
};

const killed = async ({ members: [mongod] }: ReplicaSet) => {
  await mongod!.kill();
  await sleep(count(3_000, 30_000));
  await mongod!.start();
};

/** Kills the primary while it holds writes that nobody else has, and which it will have to roll back. */
const rolledBack = async (set: ReplicaSet) => {
  const primary = await set.primary();
  const secondaries = set.members.filter((member) => member !== primary);
  await Promise.all(secondaries.map((member) => fetches(member, false)));
  await sleep(300);
  await primary.kill();
  await Promise.all(secondaries.map((member) => fetches(member, true)));
  await set.primary(secondaries);
  await primary.start();
};

test.runIf(HAS_MONGODB).each<[string, number, (set: ReplicaSet) => Promise<void>]>([
  ['is frozen', 1, frozen],
  ['is killed and started again', 1, killed],
  ['has a primary that steps down', 3, (set) => set.stepDown()],
  ['has a primary that is killed with writes of its own', 3, rolledBack],
])(
  'MongoDB %s: 503 in bounded time, nothing lost or done twice, and it goes on by itself',
  async (name, members, happens) => {
    const set = await ReplicaSet.start(members);
    try {
      const uri = set.uri(`plantstore-${randomUUID()}`);
      await using service = await startService({ MONGODB_URI: uri });
      const load = new Load(client(service.url, await service.token('alice')));
      await load.goesOn(50);
      for (let round = 0; round < count(1, 10); round++) {
        await happens(set);
        await load.goesOn(50);
      }
      await load.end(name);
      expect([...load.answers.keys()]).toEqual(expect.arrayContaining(['POST 200', 'GET 200']));
      // The command limit, the patience for an append, and what a busy machine adds.
      expect(load.longest).toBeLessThan(25_000);
      const readiness = async () => (await fetch(`${service.adminUrl}/readyz`)).status;
      await expect.poll(readiness, { timeout: 10_000 }).toBe(200);
      const store = await openMongo(uri);
      await expectNothingLost(store, service, load);
      await store.close();
    } finally {
      await set.remove();
    }
  },
  count(120_000, 1_200_000),
);
