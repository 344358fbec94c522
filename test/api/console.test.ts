import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { createLogger } from '../../src/observe/logger.ts';
import { Admission } from '../../src/transport/admission/admission.ts';
import { registerConsole } from '../../src/transport/console/console.ts';
import { createHttpServer } from '../../src/transport/http/server.ts';
import { client, expectError, type Send } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let service: LocalService;
let nobody: Send;
beforeAll(async () => {
  service = await startLocalService({ JWT_REQUIRED_SCOPES: 'plants:write' });
  nobody = client(service.url);
});
afterAll(() => service.stop());

const assetsOf = (page: string) =>
  page
    .matchAll(/"(\/console\/assets\/[^"]+)"/g)
    .map(([, path]) => path!)
    .toArray();

async function fetchCoded(path: string, coding: string) {
  const sent = request(`${service.url}${path}`, { headers: { 'accept-encoding': coding }, agent: false }).end();
  const [response] = await once(sent, 'response');
  return { headers: response.headers, body: await buffer(response) };
}

test('the page loads what it has itself, runs nothing that is in it, is in nobody’s frame, and tells nobody where one came from', async () => {
  const page = await nobody('GET', '/console');
  expect(page.status).toBe(200);
  expect(page.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
  });
  const policy = String(page.headers['content-security-policy']).split('; ');
  expect(policy).toEqual(
    expect.arrayContaining([
      ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "base-uri 'none'"],
      ...["form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"],
    ]),
  );
  expect(page.text).not.toMatch(/<script(?![^>]* src=)|<style|\sstyle=|\son\w+=/);
});

test('it is there with a slash at the end too', async () => {
  expect((await nobody('GET', '/console/')).text).toBe((await nobody('GET', '/console')).text);
});

test('whoever has the page is spared it', async () => {
  const { headers } = await nobody('GET', '/console');
  const again = await nobody('GET', '/console', { headers: { 'if-none-match': headers.etag! } });
  expect(again).toMatchObject({ status: 304, text: '' });
});

test('its files are kept for good, come in fewer bytes to who can read those, and are at most 120 KB of script', async () => {
  const assets = assetsOf((await nobody('GET', '/console')).text);
  expect(assets.map((path) => path.split('.').at(-1)).toSorted()).toEqual(['css', 'js']);
  for (const path of assets) {
    const plain = await nobody('GET', path);
    expect(plain.headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
    });
    const [br, gzip] = [await fetchCoded(path, 'gzip, br'), await fetchCoded(path, 'br;q=0, gzip;q=0.5')];
    expect(br.headers['content-encoding']).toBe('br');
    expect(gzip.headers['content-encoding']).toBe('gzip');
    expect(brotliDecompressSync(br.body).toString()).toBe(plain.text);
    expect(gunzipSync(gzip.body).toString()).toBe(plain.text);
    expect(gzip.body.length).toBeLessThan(120_000);
  }
});

test('what is not there, and what may not be done, is answered as everywhere', async () => {
  expectError(await nobody('GET', '/console/assets/main.js'), 404, 5);
  expectError(await nobody('GET', '/console/assets/..%2findex.html'), 404, 5);
  expectError(await nobody('GET', '/console/assets/%00'), 404, 5);
  expectError(await nobody('GET', '/console/nothing'), 404, 5);
  for (const headers of [{ 'if-match': '"1"' }, { 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' }])
    expectError(await nobody('GET', '/docs', { headers }), 400, 3);
  const reply = await nobody('POST', '/console');
  expectError(reply, 405, 12);
  expect(reply.headers.allow).toBe('GET, HEAD');
});

test('everybody is told which claim names the owner and which scopes are enforced', async () => {
  const { status, text } = await nobody('GET', '/console/settings');
  expect(status).toBe(200);
  expect(JSON.parse(text)).toEqual({ ownerClaim: 'sub', requiredScopes: ['plants:write'], publicLog: true });
});

test('auditors alone are told how the instance stands', async () => {
  expectError(await nobody('GET', '/console/instance'), 401, 16);
  const alice = client(service.url, await service.token('alice', 'plants:read'));
  expectError(await alice('GET', '/console/instance'), 403, 7);
  const auditor = client(service.url, await service.token('carol', 'plants:audit'));
  const { status, headers, text } = await auditor('GET', '/console/instance');
  expect(status).toBe(200);
  expect(headers['cache-control']).toBe('no-store');
  expect(JSON.parse(text)).toMatchObject({
    status: 'ready',
    dependencies: [{ name: 'store', ready: true }, { name: 'issuer' }, { name: 'rest' }],
    metrics: {
      plantstore_log_head_position: 0,
      plantstore_commands_pending: 0,
      plantstore_requests_in_flight: 1,
      plantstore_request_duration_seconds_count: expect.any(Number),
      process_cpu_seconds_total: expect.any(Number),
    },
  });
  expect(text).not.toContain('publisher_lag');
  expect(text).not.toContain('bucket');
});

test('where it is not built it says so, and once it is built it is there', async () => {
  const folder = temporaryDirectory(onTestFinished);
  const { limits } = loadConfig({});
  const admission = new Admission(limits, () => {});
  const app = createHttpServer(createLogger('fatal', { write() {} }), limits, { admission });
  registerConsole(app, { ownerClaim: 'sub', requiredScopes: [], publicLog: true }, folder);
  const nobody = client(await app.listen({ host: '127.0.0.1', port: 0 }));
  const missing = await nobody('GET', '/console');
  expectError(missing, 404, 5);
  expect(missing.text).toContain('build it with npm run console');
  expect(missing.headers['cache-control']).toBe('no-store');
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>Plant Store</title>');
  expect(await nobody('GET', '/console')).toMatchObject({ status: 200, headers: { 'cache-control': 'no-cache' } });
  await app.close();
});
