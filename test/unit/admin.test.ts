import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startAdminServer } from '../../src/observe/admin.ts';
import { Health, type Readiness } from '../../src/observe/health.ts';
import { Metrics } from '../../src/observe/metrics/metrics.ts';
import { exchange } from '../support/http.ts';

async function start(health: Health) {
  const server = await startAdminServer(health, '127.0.0.1', 0, new Metrics());
  onTestFinished(() => server.close());
  return async (path: string, init?: RequestInit) => {
    const response = await fetch(server.url + path, init);
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text && JSON.parse(text) };
  };
}

test('not ready until every dependency is, live all the while', async () => {
  let store: Readiness = { ready: false, detail: 'starting' };
  let issuer: Readiness = { ready: false };
  const get = await start(new Health({ store: () => store, issuer: () => issuer }));
  expect(await get('/readyz')).toMatchObject({ status: 503, body: { status: 'not ready' } });
  expect(await get('/livez')).toMatchObject({ status: 200, body: { status: 'live' } });
  store = { ready: true };
  expect(await get('/readyz')).toMatchObject({ status: 503 });
  issuer = { ready: true, detail: 'keys of the issuer' };
  const since = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
  expect((await get('/readyz')).body).toEqual({
    status: 'ready',
    dependencies: [
      { name: 'store', ready: true, since },
      { name: 'issuer', ready: true, detail: 'keys of the issuer', since },
    ],
  });
});

test('since tells when the state came about, not when it was asked for', () => {
  let store: Readiness = { ready: false };
  const health = new Health({ store: () => store });
  const [before] = health.dependencies();
  while (new Date().toISOString() === before!.since);
  store = { ready: false, detail: 'still starting' };
  expect(health.dependencies()).toEqual([{ ...before, detail: 'still starting' }]);
  store = { ready: true };
  expect(health.dependencies()[0]!.since > before!.since).toBe(true);
});

test('a degraded dependency is told of, and the service stays ready', async () => {
  let kafka: Readiness = { ready: true };
  const health = new Health({ kafka: () => kafka });
  const [before] = health.dependencies();
  while (new Date().toISOString() === before!.since);
  kafka = { ready: true, degraded: true, detail: 'no broker' };
  const get = await start(health);
  const { status, body } = await get('/readyz');
  expect(status).toBe(200);
  expect(body).toMatchObject({ status: 'ready', dependencies: [{ name: 'kafka', ...kafka }] });
  expect(body.dependencies[0].since > before!.since).toBe(true);
});

test('anything else is refused with an Error body', async () => {
  const get = await start(new Health({}));
  expect(await get('/plants')).toMatchObject({ status: 404, body: { error: 5, message: expect.any(String) } });
  const posted = await get('/readyz', { method: 'POST', body: '{}' });
  expect(posted).toMatchObject({ status: 405, body: { error: 12, message: expect.any(String) } });
  expect(posted.headers.get('allow')).toBe('GET, HEAD');
  expect(await get('/livez', { method: 'HEAD' })).toMatchObject({ status: 200, body: '' });
  expect((await get('/livez?probe=1')).headers.get('content-type')).toBe('application/json');
});

test('connections that ask nothing keep no probe out: beyond 256 the oldest is closed', async () => {
  await using stack = new AsyncDisposableStack();
  const server = await startAdminServer(new Health({}), '127.0.0.1', 0, new Metrics());
  stack.defer(() => server.close());
  const port = Number(new URL(server.url).port);
  const sockets: Socket[] = [];
  for (let count = 0; count < 256; count++) {
    const socket = stack.adopt(connect(port, '127.0.0.1').resume(), (opened) => void opened.destroy());
    sockets.push(socket);
    await once(socket, 'connect');
  }
  const closed = once(sockets[0]!, 'close');
  expect((await fetch(`${server.url}/livez`)).status).toBe(200);
  await closed;
  expect(sockets.filter(({ destroyed }) => destroyed)).toEqual([sockets[0]]);
});

test('scrapes that are asked for together are one, and each is answered', async () => {
  const metrics = new Metrics();
  let scrapes = 0;
  metrics.gauge('plantstore_scrapes', 'Scrapes.', () => ++scrapes);
  const server = await startAdminServer(new Health({}), '127.0.0.1', 0, metrics);
  onTestFinished(() => server.close());
  const request = 'GET /metrics HTTP/1.1\r\nHost: plants\r\n';
  const last = `${request}Connection: close\r\n\r\n`;
  const answers = await exchange(server.url, `${request}\r\n`.repeat(31) + last);
  expect(answers.match(/^plantstore_scrapes 1$/gm)).toHaveLength(32);
  expect(scrapes).toBe(1);
});

test('closing ends open connections', async () => {
  const server = await startAdminServer(new Health({}), '127.0.0.1', 0, new Metrics());
  await (await fetch(`${server.url}/livez`, { keepalive: true })).text();
  await server.close();
  await expect(fetch(`${server.url}/livez`)).rejects.toThrow();
});
