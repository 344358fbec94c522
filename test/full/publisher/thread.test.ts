import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { PublisherStatus } from '../../../src/publisher/status.ts';
import { PublisherThread } from '../../../src/publisher/thread.ts';

test.each([
  ['fails', '\0', /will be restarted: .*null bytes/],
  // As at a limit on threads, `new Worker` throws.
  ['cannot be made', () => {}, /will be restarted: .*could not be cloned/],
])('a publisher whose thread %s is started again and again, and says so once', async (_, dataDirectory, why) => {
  const program = new URL('../../../src/start/publisher-thread.ts', import.meta.url);
  const { promise: failed, resolve } = Promise.withResolvers<void>();
  const changes: PublisherStatus[] = [];
  await using _publisher = new PublisherThread(program, { dataDirectory }, (change) => {
    changes.push(change);
    resolve();
  });
  await failed;
  // Long enough to be started again and to fail again.
  await sleep(3_000);
  expect(changes).toMatchObject([{ state: 'degraded', detail: expect.stringMatching(why) }]);
});
