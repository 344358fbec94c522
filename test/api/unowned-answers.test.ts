import { connect } from 'node:net';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { PlantStoreError } from '../../src/domain/errors.ts';
import { Admission } from '../../src/transport/admission/admission.ts';
import { registerConsole } from '../../src/transport/console/console.ts';
import { identify, takePermit } from '../../src/transport/http/authentication.ts';
import { refuseOtherMethods } from '../../src/transport/http/methods.ts';
import { createHttpServer } from '../../src/transport/http/server.ts';
import { ALICE } from '../support/principal.ts';

const PLACES = 8;
const STRANGERS = 20;
const TOKEN = 'Bearer of alice';

/** A server that knows one caller, and its address. */
async function start() {
  const admission = new Admission({ maxInFlight: PLACES, maxWait: 2_000, requestMemory: 10_000_000 }, () => {});
  const limits = { maxConnections: 1_000, requestTimeout: 60, idleTimeout: 60 };
  const app = createHttpServer(pino({ level: 'silent' }), limits, { admission, corsOrigins: ['*'] });
  onTestFinished(() => app.close());
  registerConsole(app, { ownerClaim: 'sub', requiredScopes: [], publicLog: true });
  app.decorateRequest('principal', null);
  const authenticate = (authorization: unknown) => {
    if (authorization !== TOKEN) throw new PlantStoreError('TOKEN_MISSING', 'no token');
    return ALICE;
  };
  app.get(
    '/plants',
    { onRequest: (request, _reply, next) => identify(request, authenticate, next), preHandler: takePermit },
    async (request) => request.principal?.owner,
  );
  refuseOtherMethods(app, '/plants', ['GET']);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return { app, url };
}

test.each([
  ['a missing token', 'GET /plants', ''],
  ['an unknown path', 'GET /nothing', ''],
  ['another method', 'PUT /plants', 'content-length: 0\r\n'],
  ['a preflight', 'OPTIONS /plants', 'origin: https://a.example\r\naccess-control-request-method: GET\r\n'],
  ['a page', 'GET /docs', ''],
  ['the OpenAPI document', 'GET /openapi.json', ''],
])('answers to %s that nobody reads leave the permits of callers with a token alone', async (_, line, headers) => {
  const { app, url } = await start();
  let accepted = 0;
  app.server.on('connection', (socket) => {
    // Never done, as when the client's window is full.
    if (++accepted <= STRANGERS) socket._write = () => {};
  });
  const sockets = Array.from({ length: STRANGERS }, () => connect(Number(new URL(url).port), '127.0.0.1'));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  await expect.poll(() => accepted).toBe(STRANGERS);
  for (const socket of sockets) socket.write(`${line} HTTP/1.1\r\nhost: a\r\n${headers}\r\n`);
  for (let count = 0; count < 5; count++) {
    const answer = await fetch(`${url}/plants`, { headers: { authorization: TOKEN } });
    expect(answer.status).toBe(200);
    await answer.text();
  }
});
