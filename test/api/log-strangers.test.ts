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

test('strangers whose requests for the log hang leave the permits of callers with a token alone', async () => {
  const admission = new Admission({ maxInFlight: PLACES, maxWait: 60_000, requestMemory: 10_000_000 }, () => {});
  const limits = { maxConnections: 1_000, requestTimeout: 60, idleTimeout: 60 };
  const app = createHttpServer(pino({ level: 'silent' }), limits, { admission });
  onTestFinished(() => app.close());
  const hanging = Promise.withResolvers<never>();
  const unused = () => Promise.reject(new Error('not asked for'));
  registerTransparencyLog(app, {
    ...{ log: undefined as never, tree: undefined as never, key: unused },
    checkpoints: { latest: () => hanging.promise },
    // So that all permits of strangers are taken.
    proofs: new Semaphore({ permits: STRANGERS, maxWaiting: STRANGERS }),
  });
  app.decorateRequest('principal', null);
  app.get(
    '/plants',
    { onRequest: (request, _reply, next) => identify(request, () => ALICE, next), preHandler: takePermit },
    async (request) => request.principal?.owner,
  );
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const strangers = Array.from({ length: STRANGERS }, () => fetch(`${url}/log/checkpoint`));
  await expect.poll(() => admission.inFlight + admission.waiting).toBe(STRANGERS);
  for (let count = 0; count < 20; count++) expect(await (await fetch(`${url}/plants`)).text()).toBe('alice');
  expect(admission.inFlight).toBeLessThanOrEqual(PLACES / 4);
  hanging.reject(new Error('over'));
  for (const { status } of await Promise.all(strangers)) expect(status).toBeGreaterThanOrEqual(500);
});
