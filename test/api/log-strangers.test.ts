import { once } from 'node:events';
import type { Socket } from 'node:net';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { Semaphore } from '../../src/semaphore.ts';
import { Admission } from '../../src/transport/admission/admission.ts';
import { identify, takePermit } from '../../src/transport/http/authentication.ts';
import { createHttpServer } from '../../src/transport/http/server.ts';
import { registerTransparencyLog } from '../../src/transport/http/transparency-log.ts';
import { ALICE } from '../support/principal.ts';

const PLACES = 8;
const STRANGERS = 40;

/** A server whose checkpoints are `latest`. */
async function start(proofs: Semaphore, latest: () => Promise<never>) {
  const admission = new Admission({ maxInFlight: PLACES, maxWait: 60_000, requestMemory: 10_000_000 }, () => {});
  const limits = { maxConnections: 1_000, requestTimeout: 60, idleTimeout: 60 };
  const app = createHttpServer(pino({ level: 'silent' }), limits, { admission });
  onTestFinished(() => app.close());
  const unused = () => Promise.reject(new Error('not asked for'));
  registerTransparencyLog(app, {
    ...{ log: undefined as never, tree: undefined as never, key: unused, covers: unused },
    checkpoints: { latest },
    proofs,
  });
  app.decorateRequest('principal', null);
  app.get(
    '/plants',
    { onRequest: (request, _reply, next) => identify(request, () => ALICE, next), preHandler: takePermit },
    async (request) => request.principal?.owner,
  );
  return { admission, app, url: await app.listen({ host: '127.0.0.1', port: 0 }) };
}

test('strangers whose requests for the log hang leave the permits of callers with a token alone', async () => {
  const hanging = Promise.withResolvers<never>();
  // So that all permits of strangers are taken.
  const proofs = new Semaphore({ permits: STRANGERS, maxWaiting: STRANGERS });
  const { admission, url } = await start(proofs, () => hanging.promise);
  const strangers = Array.from({ length: STRANGERS }, () => fetch(`${url}/log/checkpoint`));
  await expect.poll(() => admission.inFlight + admission.waiting).toBe(STRANGERS);
  for (let count = 0; count < 20; count++) expect(await (await fetch(`${url}/plants`)).text()).toBe('alice');
  expect(admission.inFlight).toBeLessThanOrEqual(PLACES / 4);
  hanging.reject(new Error('over'));
  for (const { status } of await Promise.all(strangers)) expect(status).toBeGreaterThanOrEqual(500);
});

test('nothing is done for a reader of the log who left while the request waited', async () => {
  const proofs = new Semaphore({ permits: 1, maxWaiting: STRANGERS });
  let asked = 0;
  const { app, url } = await start(proofs, () => {
    asked++;
    return Promise.reject(new Error('over'));
  });
  const held = await proofs.acquire('');
  const accepted = once(app.server, 'connection');
  const leaving = new AbortController();
  const left = fetch(`${url}/log/checkpoint`, { signal: leaving.signal }).catch(() => {});
  const [socket] = (await accepted) as [Socket];
  await expect.poll(() => proofs.waiting).toBe(1);
  leaving.abort();
  await Promise.all([left, once(socket, 'close')]);
  held[Symbol.dispose]();
  await (await proofs.acquire(''))[Symbol.dispose]();
  expect(asked).toBe(0);
});
