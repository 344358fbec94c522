import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { openMongo } from '../../../src/log/mongo/store.ts';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import type { Store } from '../../../src/log/store.ts';
import { command } from '../../support/command.ts';
import { fill } from '../../support/fill.ts';
import { readLog } from '../../support/fold.ts';
import { client, expectError } from '../../support/http.ts';
import { startLocalService } from '../../support/local-service.ts';
import type { RunningService } from '../../support/running-service.ts';
import { count } from '../../support/soak.ts';
import { type Seen, TlogClient } from '../../support/tlog-client.ts';

/** More than a tile of level 1 has, so that there is one of level 2. */
const THREE_LEVELS = 66_000;
const CHECKPOINTS = count(6, 50);

const mongodbUri = inject('mongodbUri')?.replace('/?', `/plantstore-${randomUUID()}?`);

const stores = [
  {
    ...{ name: 'SQLite', size: THREE_LEVELS, environment: {} },
    open: async (directory: string): Promise<Store> => openSqlite(directory),
  },
  ...(mongodbUri === undefined
    ? []
    : [
        {
          // The levels are computed by the same code on every store.
          ...{ name: 'MongoDB', size: count(2_000, THREE_LEVELS), environment: { MONGODB_URI: mongodbUri } },
          open: () => openMongo(mongodbUri),
        },
      ]),
];

describe.each(stores)('the log on $name', ({ size, environment, open }) => {
  const directory = mkdtempSync(join(tmpdir(), 'plantstore-tlog-'));
  let service: RunningService;
  let log: TlogClient;
  let vkey: string;

  beforeAll(async () => {
    const store = await open(directory);
    await fill(store, size, 'alice');
    await store.close();
    service = await startLocalService({ ...environment, DATA_DIR: directory });
    vkey = (await command(['audit', 'key'], { ...environment, DATA_DIR: directory })).stdout.trim();
    log = new TlogClient(`${service.url}/log`, vkey);
  });

  afterAll(async () => {
    await service.stop();
    rmSync(directory, { recursive: true });
  });

  /** Resolves with the checkpoint once it reaches a size: it does within 15 s, but for a tree that is being built. */
  const reaching = async (wanted: number): Promise<Seen> => {
    for (;;) {
      const checkpoint = await log.checkpoint();
      if (checkpoint.size >= wanted) return checkpoint;
      await sleep(100);
    }
  };

  test('is whole to a client that believes nothing, and holds the events', async () => {
    const entries = await new TlogClient(`${service.url}/log`, vkey).verify(await reaching(size));
    const store = await open(directory);
    const records = (await readLog(store)).map((event) => Buffer.from(event.bytes).toString('hex'));
    await store.close();
    expect(entries.map((entry) => Buffer.from(entry).toString('hex'))).toEqual(records);
  });

  test('while events are added: every checkpoint is whole, none is smaller, and any two are consistent', async () => {
    const send = client(service.url, await service.token('bob'));
    let adding = true;
    let acknowledged = 0;
    const adds = Array.from({ length: 8 }, async (_, writer) => {
      for (let id = writer; adding; id += 8) {
        const { status, headers } = await send('POST', '/plants', { body: `{"id":${id},"name":"Fern"}` });
        expect(status).toBe(200);
        acknowledged = Math.max(acknowledged, Number(headers['plantstore-position']));
      }
    });
    const seen: Seen[] = [];
    while (seen.length < CHECKPOINTS) {
      const checkpoint = await log.checkpoint();
      const last = seen.at(-1);
      if (last !== undefined) expect(checkpoint.size).toBeGreaterThanOrEqual(last.size);
      if (checkpoint.size !== last?.size) {
        seen.push(checkpoint);
        // The partial tiles of just this size.
        await log.expectConsistent(checkpoint, seen[0]!);
      }
      await sleep(50);
    }
    adding = false;
    await Promise.all(adds);
    for (const [index, older] of seen.entries())
      for (const newer of seen.slice(index + 1)) await log.expectConsistent(newer, older);
    const last = await reaching(acknowledged);
    const entries = await new TlogClient(`${service.url}/log`, vkey).verify(last);
    for (let count = 0; count < 200; count++) {
      const position = 1 + ((count * 7_919) % last.size);
      await log.expectProof(position, entries[position - 1]!);
    }
  });

  test('the key is served as the command line prints it', async () => {
    const { headers, text } = await client(service.url)('GET', '/log/key');
    expect([headers['content-type'], text]).toEqual(['text/plain; charset=utf-8', `${vkey}\n`]);
  });

  test('what is not there is 404, and other methods are refused', async () => {
    const send = client(service.url);
    for (const path of [
      'tile/0/x001/000',
      'tile/0/999',
      'tile/3/000',
      'tile/63/000.p/1',
      'tile/64/000',
      'tile/0/0',
      'tile/0/000.p/256',
      'tile/0/000.p/0',
      'tile/00/000',
      'tile/0/000/',
      'tile/entries/999',
      'tile/entries/x001/x001/x001/x001/x001/000',
      'tile/data/000',
      'proof/0',
      'proof/-1',
      'proof/01',
      'proof/999999',
      'proof/99999999999999999999',
      'nothing',
    ])
      expectError(await send('GET', `/log/${path}`), 404, 5);
    const refused = await send('POST', '/log/checkpoint');
    expectError(refused, 405, 12);
    expect(refused.headers.allow).toBe('GET, HEAD');
  });

  test('HEAD tells what GET would send', async () => {
    const send = client(service.url);
    for (const path of ['tile/0/000', 'tile/entries/000', 'key']) {
      const [get, head] = [await send('GET', `/log/${path}`), await send('HEAD', `/log/${path}`)];
      expect(head.text).toBe('');
      for (const name of ['content-type', 'content-length', 'cache-control'])
        expect(head.headers[name]).toBe(get.headers[name]);
    }
  });

  test('a bundle is compressed for who can read it so', async () => {
    const get = (encoding: string) =>
      new Promise<{ encoding: string | undefined; body: Buffer }>((resolve, reject) => {
        const call = request(`${service.url}/log/tile/entries/000`, { headers: { 'accept-encoding': encoding } });
        call.on('response', async (response) => {
          const body = Buffer.concat(await response.toArray());
          resolve({ encoding: response.headers['content-encoding'], body });
        });
        call.on('error', reject).end();
      });
    const plain = await get('identity');
    expect(plain.encoding).toBeUndefined();
    expect((await get('gzip;q=0')).encoding).toBeUndefined();
    const packed = await get('br, gzip');
    expect(packed.encoding).toBe('gzip');
    expect(gunzipSync(packed.body)).toEqual(plain.body);
    expect(packed.body.length).toBeLessThan(plain.body.length);
  });
});

test('PUBLIC_LOG=false hides all of it', async () => {
  await using service = await startLocalService({ PUBLIC_LOG: 'false' });
  const send = client(service.url);
  for (const path of ['checkpoint', 'key', 'tile/0/000', 'tile/entries/000', 'proof/1'])
    expectError(await send('GET', `/log/${path}`), 404, 5);
});

test('an empty log has a checkpoint, under the origin that LOG_ORIGIN names', async () => {
  await using service = await startLocalService({ LOG_ORIGIN: 'log.example/plants' });
  const { text } = await client(service.url)('GET', '/log/checkpoint');
  expect(text).toMatch(
    /^log\.example\/plants\n0\n47DEQpj8HBSa\+\/TImW\+5JCeuQeRkm5NMpJWZG3hSuFU=\n\n— log\.example\/plants /,
  );
});

test('strangers who ask for much of the log are refused in part, and callers with a token are not', async () => {
  await using service = await startLocalService();
  const send = client(service.url, await service.token('alice'));
  for (let id = 0; id < 300; id++) await send('POST', '/plants', { body: `{"id":${id},"name":"Fern"}` });
  const stranger = client(service.url);
  const asked = Array.from({ length: 400 }, (_, at) => stranger('GET', `/log/tile/entries/000.p/${1 + (at % 255)}`));
  const lists = Array.from({ length: 20 }, () => send('GET', '/plants?limit=1'));
  for (const { status } of await Promise.all(lists)) expect(status).toBe(200);
  const answers = await Promise.all(asked);
  const refused = answers.filter(({ status }) => status !== 200);
  for (const reply of refused) {
    expectError(reply, 503, 14);
    expect(reply.headers['retry-after']).toBe('1');
  }
  expect(answers.length - refused.length).toBeGreaterThanOrEqual(66);
});
