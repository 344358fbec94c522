import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { EMPTY_HEAD } from '../../src/log/event/event.ts';
import { type EventLog, openLog } from '../../src/log/log.ts';
import { LogReplacedError, type Store } from '../../src/log/store.ts';
import { Tree } from '../../src/log/tree/tree.ts';
import { added, chain } from '../support/events.ts';
import { readLog } from '../support/fold.ts';
import type { Database } from '../support/tampering.ts';
import type { OpenDatabase } from './audit-tampering.ts';

const add = (log: EventLog, id: bigint) =>
  log.submit({ type: 'AddPlant', owner: 'alice', actor: 'alice', plant: { id, name: 'Fern', tag: undefined } });

const list = (log: EventLog) => log.list({ owner: 'alice', after: undefined, limit: undefined });

/** Milliseconds for which a look at the end of the log is not good enough to append there. */
const LONGER = 20;

const UNAVAILABLE = { reason: 'STORE_UNAVAILABLE' };

/** An instance on a log of five events, and that log past the instance. */
interface Scene {
  readonly log: EventLog;
  readonly store: Store;
  readonly database: Database;
  /** What the instance told of its store, in order; undefined: it can be reached. */
  readonly faults: unknown[];
  positions(): Promise<number[]>;
}

/** Takes the events after a position out, as an older backup has it. */
async function cut({ database }: Scene, kept: number): Promise<void> {
  for (let position = 5; position > kept; position--) await database.removeEvent(position);
  await database.setCheckpoint(0);
  await sleep(LONGER);
}

/** What a running instance does when an older or another log is restored under it, on any store. */
export function restoredContract(name: string, open: OpenDatabase): void {
  const on = (run: (scene: Scene) => Promise<void>) => async (): Promise<void> => {
    const opened = await open();
    const faults: unknown[] = [];
    const log = await openLog(await opened.second(), { onFault: () => {}, onReachable: (fault) => faults.push(fault) });
    const database = await opened.database();
    try {
      for (const id of [1n, 2n, 3n, 4n, 5n]) await add(log, id);
      const positions = async () => (await readLog(opened.store)).map(({ position }) => position);
      await run({ log, store: opened.store, database, faults, positions });
    } finally {
      await database.close();
      await log.close();
      await opened.cleanup();
    }
  };

  describe(`a log that is replaced under a running instance, on ${name}`, () => {
    for (const kept of [0, 2, 4])
      test(
        `cut to ${kept} events: nothing is appended behind the hole, then or ever`,
        on(async (scene) => {
          const { log, faults, positions } = scene;
          await cut(scene, kept);
          const left = Array.from({ length: kept }, (_, index) => index + 1);
          for (let attempt = 0; attempt < 2; attempt++) {
            await expect(add(log, 6n)).rejects.toMatchObject(UNAVAILABLE);
            expect(await positions()).toEqual(left);
            await expect(list(log)).rejects.toMatchObject(UNAVAILABLE);
            await expect.poll(() => faults.at(-1)).toBeInstanceOf(LogReplacedError);
          }
          // The event that the instance missed first: it may have looked while they were taken out.
          expect(String(faults.at(-1))).toMatch(
            /position [1-5]: missing, although this instance has read the log up to position 5/,
          );
          expect(faults.filter((fault) => fault !== undefined)).toHaveLength(1);
        }),
      );

    test(
      'the writer lets another instance write, and forwards nothing',
      on(async (scene) => {
        const { log, store } = scene;
        const openLink = () => expect.fail('a link was opened');
        log.join({ contact: () => ({ address: 'this' }), openLink, onReachable: () => {}, onFault: () => {} });
        await expect.poll(() => log.status.role).toBe('writer');
        await cut(scene, 2);
        await expect(add(log, 6n)).rejects.toMatchObject(UNAVAILABLE);
        await expect.poll(() => log.status.role).toBe('alone');
        expect(await store.lease('writer', 'another', 60_000, { address: 'another', secret: '' })).toBe(true);
        await sleep(500);
        expect(log.status.role).toBe('alone');
        await expect(add(log, 6n)).rejects.toMatchObject(UNAVAILABLE);
      }),
    );

    test(
      'a start behind it names the first event that is missing, however far the read model is',
      on(async ({ store, database }) => {
        for (const position of [5, 4]) await database.removeEvent(position);
        await database.setCheckpoint(5);
        await expect(openLog(store, { onFault: () => {} })).rejects.toThrow(
          'the log is broken at position 4: missing, although the read model is at position 5',
        );
      }),
    );

    for (const more of [0, 3])
      test(
        `put back with other events, ${more} more: nothing is appended to it`,
        on(async ({ log, database, faults, positions }) => {
          const others = Array.from({ length: 5 + more }, (_, id) => added('mallory', BigInt(id)));
          // From the end, so that at no moment the log seems to be what it was.
          for (const event of chain(EMPTY_HEAD, others).toReversed()) await database.putEvent(event);
          await sleep(LONGER);
          await expect(add(log, 6n)).rejects.toMatchObject(UNAVAILABLE);
          expect(await positions()).toHaveLength(5 + more);
          await expect(list(log)).rejects.toMatchObject(UNAVAILABLE);
          await expect.poll(() => faults.at(-1)).toBeInstanceOf(LogReplacedError);
        }),
      );

    test(
      'its tree is not read any more, not even what is remembered of it',
      on(async (scene) => {
        const tree = new Tree(scene.store, scene.log.replaced);
        const read = () => [tree.readTile({ level: 0, index: 0, width: 3 }), tree.readBlock(0, 3)];
        await Promise.all(read());
        await cut(scene, 3);
        await expect.poll(() => scene.log.replaced.aborted).toBe(true);
        for (const answer of read()) await expect(answer).rejects.toBeInstanceOf(LogReplacedError);
      }),
    );

    test(
      'who follows the log is told so, and not left waiting',
      on(async (scene) => {
        const following = (async () => {
          for await (const events of scene.log.read(0, { follow: true }))
            if (events.at(-1)?.position === 5) await cut(scene, 3);
        })();
        await expect(following).rejects.toBeInstanceOf(LogReplacedError);
      }),
    );
  });
}
