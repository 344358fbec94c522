import { describe, expect, test } from 'vitest';
import { openLog } from '../../src/log/log.ts';
import { gated, override } from '../support/faulty-store.ts';
import { fill } from '../support/fill.ts';
import type { OpenStore } from './open-store.ts';

/** More than a list in memory holds. */
const LONG = 6_000;

/** What long lists cost those who write meanwhile, on any store. */
export function pinnedContract(name: string, open: OpenStore): void {
  describe(`long lists beside commands, on ${name}`, () => {
    test('while a long list waits until it may read, the events of others are let go of, and commands go on', async () => {
      const opened = await open();
      await fill(opened.store, LONG, 'alice');
      const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const waitBeforeLongRead = () => {
        asked.resolve();
        return gate.promise;
      };
      const log = await openLog(override(await opened.second(), { waitBeforeLongRead }), { onFault: () => {} });
      const list = log.list({ owner: 'alice', after: undefined, limit: undefined });
      await asked.promise;
      await log.submit({
        type: 'AddPlant',
        owner: 'bob',
        actor: 'bob',
        plant: { id: 1n, name: 'Fern', tag: undefined },
      });
      await expect.poll(() => log.status.tail.events).toBe(0);
      gate.resolve();
      await ((await list).plants as AsyncGenerator<unknown>).return(undefined);
      await log.close();
      await opened.cleanup();
    });

    test('while limits of long lists are counted off, the events of others are let go of, and commands go on', async () => {
      const opened = await open();
      await fill(opened.store, LONG, 'alice');
      const gate = Promise.withResolvers<void>();
      const log = await openLog(gated(await opened.second(), gate.promise), {
        onFault: () => {},
        limits: { tailBytes: 20_000 },
      });
      const add = (id: bigint) =>
        log.submit({ type: 'AddPlant', owner: 'bob', actor: 'bob', plant: { id, name: 'Fern', tag: undefined } });
      try {
        const lists = [LONG - 1, LONG - 2, LONG - 3].map((limit) =>
          log.list({ owner: 'alice', after: undefined, limit }),
        );
        for (let id = 0n; id < 100n; id++) {
          await add(id);
          await expect.poll(() => log.status.tail.bytes, { interval: 2 }).toBeLessThan(15_000);
        }
        await expect.poll(() => log.status.tail.events).toBe(0);
        gate.resolve();
        expect((await Promise.all(lists)).map(({ next }) => next)).toEqual(
          [2n, 3n, 4n].map((less) => BigInt(LONG) - less),
        );
        for (const { plants } of await Promise.all(lists)) await (plants as AsyncGenerator<unknown>).return(undefined);
      } finally {
        gate.resolve();
        await log.close();
        await opened.cleanup();
      }
    });
  });
}
