import { afterAll, beforeAll, expect, test } from 'vitest';
import { client, type Reply, type RequestParts, type Send } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';

let service: LocalService;
let alice: Send;
beforeAll(async () => {
  service = await startLocalService();
  alice = client(service.url, await service.token('alice'));
});
afterAll(() => service.stop());

const PLANT = '{"id":7,"name":"<script>alert(1)</script>"}';
const LIST = '/plantstore.v1.PlantStoreService/ListPlants';

const ANSWERS: readonly [string, string, number, RequestParts?][] = [
  ['POST', '/plants', 200, { body: PLANT }],
  ['GET', '/plants', 200],
  ['DELETE', '/plants/7', 204],
  ['DELETE', '/plants/7', 404],
  ['POST', '/plants', 400, { body: '{' }],
  ['POST', '/plants', 415, { body: PLANT, headers: { 'content-type': 'text/html' } }],
  ['PUT', '/plants', 405],
  ['GET', '/%zz', 400],
  ['GET', '/nothing', 404],
  ['GET', '/openapi.json', 200],
  ['GET', '/docs', 200],
  ['GET', '/docs/', 200],
  ['GET', '/docs/nothing', 404],
  ['GET', '/log/key', 200],
  ['GET', '/console', 200],
  ['GET', '/console/nothing', 404],
  ['GET', '/console/instance', 403],
  ['POST', LIST, 415, { body: '{}', headers: { 'content-type': 'text/html' } }],
];

test.each(ANSWERS)(
  '%s %s answered with %i is what its type says, and a failure is not kept',
  async (method, path, status, parts = {}) => {
    const reply: Reply = await alice(method, path, parts);
    expect(reply.status).toBe(status);
    expect(reply.headers['x-content-type-options']).toBe('nosniff');
    if (status >= 400) expect(reply.headers['cache-control']).toBe('no-store');
    expect(reply.headers).not.toHaveProperty('server');
    expect(reply.headers).not.toHaveProperty('x-powered-by');
  },
);

test('the pages load nothing from elsewhere, run nothing that is not theirs, and are in nobody’s frame', async () => {
  for (const path of ['/docs', '/docs/', '/console']) {
    const policy = String((await alice('GET', path)).headers['content-security-policy']).split('; ');
    expect(policy).toEqual(
      expect.arrayContaining(["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"]),
    );
  }
});
