import { describe, expect, test } from 'vitest';
import { repairReadModel } from '../../src/audit/repair.ts';
import { type EventLog, openLog } from '../../src/log/log.ts';
import { BrokenReadModelError, type Store } from '../../src/log/store.ts';
import { NO_NODES } from '../support/events.ts';
import type { Database } from '../support/tampering.ts';
import type { OpenDatabase } from './audit-tampering.ts';

const IDS = [1n, 2n, 3n, 4n, 5n];

const UNAVAILABLE = { reason: 'STORE_UNAVAILABLE', message: 'the plants cannot be read now; try again' };

const add = (log: EventLog, id: bigint) =>
  log.submit({ type: 'AddPlant', owner: 'alice', actor: 'alice', plant: { id, name: 'Fern', tag: undefined } });

const get = (log: EventLog, id: bigint) => log.get({ owner: 'alice', id });

async function repair(store: Store): Promise<void> {
  for await (const _ of repairReadModel(store));
}

/** An instance, and what it has told of its read model, in order: why it is of no use, or undefined. */
interface Instance {
  readonly log: EventLog;
  readonly told: (string | undefined)[];
}

/** An instance on a log of five events, all of them in the read model. */
interface Scene extends Instance {
  readonly store: Store;
  /** Changes the database by hand. */
  edit(change: (database: Database) => Promise<void>): Promise<void>;
  /** One more instance of the log. */
  another(): Promise<Instance>;
}

/** What a running instance does when somebody edits its read model, or restores it alone, on any store. */
export function brokenReadModelContract(name: string, open: OpenDatabase): void {
  const on = (run: (scene: Scene) => Promise<void>) => async (): Promise<void> => {
    const opened = await open();
    const logs: EventLog[] = [];
    const another = async () => {
      const told: (string | undefined)[] = [];
      const onReadModel = (fault: Error | undefined) => told.push(fault?.message);
      const log = await openLog(await opened.second(), { onFault: () => {}, onReadModel });
      logs.push(log);
      return { log, told };
    };
    const first = await another();
    const edit = async (change: (database: Database) => Promise<void>) => {
      const database = await opened.database();
      await change(database).finally(() => database.close());
    };
    try {
      for (const id of IDS) await add(first.log, id);
      await expect.poll(() => first.log.status.checkpoint).toBe(5);
      await run({ ...first, store: opened.store, edit, another });
    } finally {
      for (const log of logs) await log.close();
      await opened.cleanup();
    }
  };

  describe(`a read model that is edited under a running instance, on ${name}`, () => {
    test(
      'without a checkpoint: the instance says so, reads no rows, and goes on once it is repaired',
      on(async ({ log, told, store, edit }) => {
        await edit((database) => database.removeCheckpoint());
        await expect(get(log, 1n)).rejects.toMatchObject(UNAVAILABLE);
        const why =
          'the store has lost the checkpoint of its read model (plants in checkpoints): run plantstore audit rebuild';
        await expect.poll(() => told).toEqual([why]);
        await repair(store);
        await expect.poll(() => told).toEqual([why, undefined]);
        expect(await get(log, 1n)).toMatchObject({ name: 'Fern' });
      }),
    );

    test(
      'set back with its rows: no plant is taken to be gone, and an instance that starts on it mends it for all',
      on(async ({ log, told, edit, another }) => {
        await edit(async (database) => {
          for (const id of [3n, 4n, 5n]) await database.removePlant('alice', id);
          await database.setCheckpoint(2);
        });
        await expect(get(log, 4n)).rejects.toMatchObject(UNAVAILABLE);
        const why = 'the read model was set back from position 5 to 2: run plantstore audit rebuild';
        await expect.poll(() => told).toEqual([why]);
        const later = await another();
        for (const id of IDS) expect(await get(later.log, id)).toMatchObject({ name: 'Fern' });
        await log.close();
        await expect.poll(() => later.log.status.checkpoint).toBe(5);
        expect(later.told).toEqual([]);
      }),
    );

    test(
      'set back without its rows: an instance that starts on it lists what is in the log, and says what does not fit',
      on(async ({ log, told, store, edit, another }) => {
        await edit((database) => database.setCheckpoint(2));
        await expect.poll(() => told).toHaveLength(1);
        await log.close();
        const later = await another();
        for (const id of IDS) expect(await get(later.log, id)).toMatchObject({ name: 'Fern' });
        const why = 'the read model has a plant that is to be added: run plantstore audit rebuild';
        await expect.poll(() => later.told).toEqual([why]);
        await add(later.log, 6n);
        await repair(store);
        await expect.poll(() => later.told).toEqual([why, undefined]);
        expect(later.log.status.checkpoint).toBe(6);
      }),
    );

    test(
      'set back without its rows: a repair brings it to where running instances have seen it',
      on(async ({ log, told, store, edit }) => {
        await edit((database) => database.setCheckpoint(2));
        await expect.poll(() => told).toHaveLength(1);
        await repair(store);
        await expect.poll(() => told).toHaveLength(2);
        expect(told[1]).toBeUndefined();
        expect(await store.checkpoint()).toBe(5);
        for (const id of IDS) expect(await get(log, id)).toMatchObject({ name: 'Fern' });
        await add(log, 6n);
        await expect.poll(() => log.status.checkpoint).toBe(6);
      }),
    );

    test(
      'set beyond the end of the log: no event is taken to be in the rows, and all goes on once it is right again',
      on(async ({ log, told, edit }) => {
        await edit((database) => database.setCheckpoint(7));
        const why =
          'the read model is at position 7, but the log ends before that: restore another backup, or go on without the lost events: plantstore audit export, then audit import into an empty store';
        await expect.poll(() => told).toEqual([why]);
        await expect(get(log, 1n)).rejects.toMatchObject(UNAVAILABLE);
        await edit((database) => database.setCheckpoint(2));
        const other = 'the read model was set back from position 5 to 2: run plantstore audit rebuild';
        await expect.poll(() => told).toEqual([why, other]);
        await edit((database) => database.setCheckpoint(5));
        await expect.poll(() => told).toEqual([why, other, undefined]);
        await add(log, 6n);
        await expect.poll(() => log.status.checkpoint).toBe(6);
        for (const id of [...IDS, 6n]) expect(await get(log, id)).toMatchObject({ name: 'Fern' });
      }),
    );

    test(
      'a step that does not fit the rows does nothing',
      on(async ({ store }) => {
        const plant = (id: bigint) => ({ owner: 'alice', id, name: 'Palm', tag: undefined });
        for (const changes of [
          { deletes: [{ owner: 'alice', id: 9n }], inserts: [] },
          { deletes: [], inserts: [plant(8n), plant(1n)] },
        ])
          await expect(store.advance(5, 6, changes, NO_NODES)).rejects.toBeInstanceOf(BrokenReadModelError);
        expect(await store.checkpoint()).toBe(5);
        expect((await store.get([{ owner: 'alice', id: 8n }])).rows).toEqual([undefined]);
      }),
    );
  });
}
