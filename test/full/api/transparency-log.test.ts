import { request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { command } from '../../support/command.ts';
import { fill } from '../../support/fill.ts';
import { client, expectError } from '../../support/http.ts';
import { startLocalService } from '../../support/local-service.ts';
import type { RunningService } from '../../support/running-service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Seven full tiles of level 0, and a part of one. */
const EVENTS = 2_000;

describe('the log', () => {
  const directory = temporaryDirectory(afterAll);
  let service: RunningService;
  let vkey: string;

  beforeAll(async () => {
    const store = openSqlite(directory);
    await fill(store, EVENTS, 'alice');
    await store.close();
    service = await startLocalService({ DATA_DIR: directory });
    vkey = (await command(['audit', 'key'], { DATA_DIR: directory })).stdout.trim();
  });

  afterAll(() => service.stop());

  test('each answer says what it is, and for how long it may be kept', async () => {
    const headersOf = async (path: string) => {
      const { status, headers } = await client(service.url)('GET', `/log/${path}`);
      return [path, status, headers['content-type'], headers['cache-control']];
    };
    const whole = 'public, max-age=31536000, immutable';
    const partial = 'public, max-age=5';
    for (const [path, kept] of [
      ['tile/0/000', whole],
      ['tile/entries/000', whole],
      ['tile/0/000.p/200', partial],
      ['tile/entries/007.p/208', partial],
      ['tile/1/000.p/7', partial],
    ] as const)
      expect(await headersOf(path)).toEqual([path, 200, 'application/octet-stream', kept]);
    const [, , type, kept] = await headersOf('checkpoint');
    expect(type).toBe('text/plain; charset=utf-8');
    expect(Number(/^public, max-age=(\d+)$/.exec(String(kept))![1])).toBeLessThanOrEqual(10);
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
    // What may come is told from what never will.
    for (const [path, reason] of [
      ['proof/999999', 'EVENT_NOT_FOUND'],
      ['tile/0/999', 'EVENT_NOT_FOUND'],
      ['tile/entries/999', 'EVENT_NOT_FOUND'],
      ['tile/0/0', 'ROUTE_NOT_FOUND'],
      ['nothing', 'ROUTE_NOT_FOUND'],
    ])
      expect([path, (await send('GET', `/log/${path}`)).headers['plantstore-reason']]).toEqual([path, reason]);
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
    for (const refused of ['gzip;q=0', 'gzip;q=0, *', 'gzip2', 'gzip;q=0.1, identity'])
      expect((await get(refused)).encoding, refused).toBeUndefined();
    expect((await get('*')).encoding).toBe('gzip');
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
