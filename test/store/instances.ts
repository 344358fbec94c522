import { describe, expect, test } from 'vitest';
import type { Command } from '../../src/domain/decider.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import { type EventLog, openLog } from '../../src/log/log.ts';
import { collect, readLog, verifyLog } from '../support/fold.ts';
import { isLinearizable } from '../support/linearizability.ts';
import { type PlantInput, type PlantOperation, type PlantOutput, plantsModel } from '../support/plants-model.ts';
import { count } from '../support/soak.ts';
import type { OpenStore } from './open-store.ts';

const add = (id: number, name: string): Command => ({
  type: 'AddPlant',
  owner: 'alice',
  actor: 'alice',
  plant: { id: BigInt(id), name, tag: undefined },
});
const remove = (id: number): Command => ({ type: 'DeletePlant', owner: 'alice', actor: 'alice', id: BigInt(id) });

const reasonOf = (error: unknown): string => {
  if (error instanceof PlantStoreError) return error.reason;
  throw error;
};

/** Whether a command was accepted; undefined when nobody knows. */
async function outcome(log: EventLog, command: Command): Promise<boolean | undefined> {
  try {
    await log.submit(command);
    return true;
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === 'PLANT_ALREADY_EXISTS' || reason === 'PLANT_NOT_FOUND') return false;
    expect(reason).toBe('OUTCOME_UNKNOWN');
    return undefined;
  }
}

/** A client that does random operations one after the other, and writes down what it saw and when. */
async function client(log: EventLog, name: string, operations: number, history: PlantOperation[]): Promise<void> {
  for (let step = 0; step < operations; step++) {
    const id = Math.floor(Math.random() * 3);
    const input = [{ do: 'add', id, name: `${name}.${step}` }, { do: 'delete', id }, { do: 'list' }][
      Math.floor(Math.random() * 3)
    ] as PlantInput;
    const called = performance.now();
    let output: PlantOutput | undefined;
    if (input.do === 'list')
      output = (await collect(await log.list({ owner: 'alice', after: undefined, limit: undefined }))).map(
        (row) => row.name,
      );
    else output = await outcome(log, input.do === 'add' ? add(id, input.name) : remove(id));
    history.push({ input, output, called, returned: performance.now() });
  }
}

/** What several instances on one store have to keep. */
export function instancesContract(name: string, open: OpenStore): void {
  const withInstances = async (
    instances: number,
    run: (logs: EventLog[], log: () => ReturnType<typeof readLog>) => Promise<void>,
  ) => {
    const opened = await open();
    const stores = [opened.store];
    while (stores.length < instances) stores.push(await opened.second());
    const logs = await Promise.all(stores.map((store) => openLog(store, { onFault: () => {} })));
    const reader = await opened.second();
    try {
      await run(logs, () => readLog(reader));
    } finally {
      for (const log of logs) await log.close();
      await reader.close();
      await opened.cleanup();
    }
  };

  describe(`instances on ${name}`, () => {
    test('of all who add the same id at once exactly one wins, the others are told that it exists', async () => {
      const rounds = count(25, 1000);
      await withInstances(3, async (logs, read) => {
        for (let id = 0; id < rounds; id++) {
          // Submitted in one turn of the event loop: every instance builds on the same head.
          const attempts = logs.flatMap((log, instance) =>
            [0, 1].map((writer) => log.submit(add(id, `${instance}.${writer}`))),
          );
          const settled = await Promise.allSettled(attempts);
          const losers = settled.filter((result) => result.status === 'rejected').map(({ reason }) => reasonOf(reason));
          expect(losers).toEqual(Array(attempts.length - 1).fill('PLANT_ALREADY_EXISTS'));
        }
        const events = await read();
        verifyLog(events);
        expect(events.map(({ event }) => Number(event.plantId))).toEqual(Array.from({ length: rounds }, (_, id) => id));
      });
    });

    test('no instance starves beside the others, and every command is answered', async () => {
      await withInstances(4, async (logs, read) => {
        const each = count(100, 2000);
        await Promise.all(
          logs.map(async (log, instance) => {
            for (let from = 0; from < each; from += 10)
              await Promise.all(
                Array.from({ length: 10 }, (_, offset) => log.submit(add(instance * each + from + offset, ''))),
              );
          }),
        );
        const events = await read();
        verifyLog(events);
        expect(events).toHaveLength(4 * each);
      });
    });

    test('what clients of two instances see is linearizable', async () => {
      for (let round = 0; round < count(3, 100); round++) {
        const history: PlantOperation[] = [];
        await withInstances(2, async (logs) => {
          await Promise.all([0, 1, 2, 3, 4, 5].map((number) => client(logs[number % 2]!, `${number}`, 40, history)));
        });
        expect(history.filter(({ output }) => output === true).length).toBeGreaterThan(10);
        expect(isLinearizable(plantsModel, history)).toBe(true);
      }
    });
  });
}
