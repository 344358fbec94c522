import { describe, expect, test } from 'vitest';
import { type EventLog, openLog } from '../../src/log/log.ts';
import type { Store } from '../../src/log/store.ts';
import type { Database } from '../support/tampering.ts';
import type { OpenDatabase } from './audit-tampering.ts';

const IDS = [1n, 2n, 3n, 4n, 5n];

const UNAVAILABLE = { reason: 'STORE_UNAVAILABLE', message: 'the plants cannot be read now; try again' };

const add = (log: EventLog, id: bigint) =>
  log.submit({ type: 'AddPlant', owner: 'alice', actor: 'alice', plant: { id, name: 'Fern', tag: undefined } });

const get = (log: EventLog, id: bigint) => log.get({ owner: 'alice', id });

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
  });
}
