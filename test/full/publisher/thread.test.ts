import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { PublisherStatus } from '../../../src/publisher/status.ts';
import { PublisherThread } from '../../../src/publisher/thread.ts';

test('a publisher whose thread fails is started again and again, and says so once', async () => {
  const program = new URL('../../../src/start/publisher-thread.ts', import.meta.url);
  const { promise: failed, resolve } = Promise.withResolvers<void>();
  const changes: PublisherStatus[] = [];
  await using _publisher = new PublisherThread(program, { dataDirectory: '\0' }, (change) => {
    changes.push(change);
    resolve();
  });
  await failed;
  // Long enough to be started again and to fail again.
  await sleep(3_000);
  expect(changes).toMatchObject([
    { state: 'degraded', detail: expect.stringMatching(/will be restarted: .*null bytes/) },
  ]);
});
