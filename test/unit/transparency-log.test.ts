import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import type { Tree } from '../../src/log/tree/tree.ts';
import { Semaphore } from '../../src/semaphore.ts';
import { Admission } from '../../src/transport/admission/admission.ts';
import { createHttpServer } from '../../src/transport/http/server.ts';
import { registerTransparencyLog } from '../../src/transport/http/transparency-log.ts';

test.each(['/log/tile/0/000', '/log/tile/entries/000'])(
  'of a tree that is repaired while it is asked whether it is signed, caches keep nothing from before: %s',
  async (url) => {
    let remembered = 'damaged';
    const admission = new Admission({ maxInFlight: 1, maxWait: 1_000, requestMemory: 1_000_000 }, () => {});
    const limits = { maxConnections: 10, requestTimeout: 60, idleTimeout: 60 };
    const app = createHttpServer(pino({ level: 'silent' }), limits, { admission });
    onTestFinished(() => app.close());
    registerTransparencyLog(app, {
      log: { status: { head: 256 } } as never,
      tree: {
        readTile: async () => Buffer.from(remembered),
        readBlock: async () => ({ bundle: Buffer.from(remembered) }),
      } as unknown as Tree,
      covers: async () => {
        remembered = 'repaired';
        return true;
      },
      ...{ checkpoints: undefined as never, key: undefined as never },
      proofs: new Semaphore({ permits: 1, maxWaiting: 1 }),
    });
    const answer = await fetch(`${await app.listen({ host: '127.0.0.1', port: 0 })}${url}`);
    expect([await answer.text(), answer.headers.get('cache-control')]).toEqual([
      'repaired',
      expect.stringContaining('immutable'),
    ]);
  },
);
