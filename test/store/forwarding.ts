import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Command, PlantCommand } from '../../src/domain/decider.ts';
import type { PlantStoreError } from '../../src/domain/errors.ts';
import { type EventLog, openLog } from '../../src/log/log.ts';
import { readLog } from '../support/fold.ts';
import { TestHop, TestLeases } from '../support/test-hop.ts';
import type { OpenStore } from './open-store.ts';

const add = (id: number, name = 'Fern'): PlantCommand => ({
  type: 'AddPlant',
  owner: 'alice',
  actor: 'alice',
  plant: { id: BigInt(id), name, tag: undefined },
});
const remove = (id: number): Command => ({ type: 'DeletePlant', owner: 'alice', actor: 'alice', id: BigInt(id) });

/** The position of a command's event, or the reason why there is none. */
const told = (answer: Promise<{ position: number }>): Promise<number | string> =>
  answer.then(
    ({ position }) => position,
    (error: PlantStoreError) => error.reason,
  );

interface Scene {
  readonly hop: TestHop;
  readonly leases: TestLeases;
  /** The instances are called 0, 1, 2, ... */
  readonly logs: readonly EventLog[];
  events(): ReturnType<typeof readLog>;
}

/** What instances have to keep that forward to one of them. */
export function forwardingContract(name: string, open: OpenStore): void {
  const withInstances =
    (instances: number, run: (scene: Scene) => Promise<void>, { commitLimit = 10_000 } = {}) =>
    async () => {
      const opened = await open();
      const hop = new TestHop();
      const leases = new TestLeases();
      const logs: EventLog[] = [];
      for (let number = 0; number < instances; number++) {
        const store = number === 0 ? opened.store : await opened.second();
        logs.push(await openLog(leases.on(store, `${number}`), { onFault: () => {}, limits: { commitLimit } }));
        hop.join(`${number}`, logs[number]!);
      }
      const reader = await opened.second();
      try {
        await run({ hop, leases, logs, events: () => readLog(reader) });
      } finally {
        await hop.release();
        await Promise.all(logs.map((log) => log.close()));
        await reader.close();
        await opened.cleanup();
      }
    };

  /** Makes the first the writer, to whom the others forward. */
  const settle = async ({ leases, logs }: Scene, writer = 0) => {
    leases.writer = `${writer}`;
    let id = 1_000;
    for (const [number, log] of logs.entries())
      while (log.status.role !== (number === writer ? 'writer' : 'forwards')) {
        await logs[writer]!.submit(add(id++));
        await log.submit(add(id++));
        await sleep(5);
      }
    // Once each by way of the writer, so that all know where the log ends.
    for (const log of logs) await log.submit(add(id++));
  };

  describe(`forwarding on ${name}`, () => {
    test(
      'a request that comes late, when its sender has applied it, is not applied again, whatever has happened to the plant since',
      withInstances(2, async (scene) => {
        await settle(scene);
        const [writer, other] = scene.logs as [EventLog, EventLog];
        const before = (await scene.events()).length;
        scene.hop.hold('1');
        const answer = told(other.submit(add(1)));
        await scene.hop.holds('1');
        scene.hop.cut('1');
        expect(await answer).toBe(before + 1);
        expect(await told(writer.submit(remove(1)))).toBe(before + 2);
        await scene.hop.release();
        expect(await told(writer.submit(add(2)))).toBe(before + 3);
        expect(await scene.events()).toHaveLength(before + 3);
      }),
    );

    test(
      'a refusal is told only when the writer can no longer decide otherwise: what comes late and is applied is told as applied',
      withInstances(2, async (scene) => {
        await settle(scene);
        const [writer, other] = scene.logs as [EventLog, EventLog];
        await writer.submit(add(1));
        const before = (await scene.events()).length;
        scene.hop.hold('1');
        const answer = told(other.submit(add(1)));
        await scene.hop.holds('1');
        scene.hop.cut('1');
        await sleep(50);
        expect(await told(writer.submit(remove(1)))).toBe(before + 1);
        await scene.hop.release();
        expect(await answer).toBe(before + 2);
        expect(await scene.events()).toHaveLength(before + 2);
      }),
    );

    test(
      'a refusal is told once another command of the instance has landed, and the request that comes late is then not applied',
      withInstances(2, async (scene) => {
        await settle(scene);
        const [writer, other] = scene.logs as [EventLog, EventLog];
        await writer.submit(add(1));
        const before = (await scene.events()).length;
        scene.hop.hold('1');
        const answer = told(other.submit(add(1)));
        await scene.hop.holds('1');
        scene.hop.cut('1');
        await sleep(50);
        // Although there may be a link again: what is in doubt is settled by an append here.
        expect(await told(other.submit(add(2)))).toBe(before + 1);
        expect(await answer).toBe('PLANT_ALREADY_EXISTS');
        expect(await told(writer.submit(remove(1)))).toBe(before + 2);
        await scene.hop.release();
        expect(await told(writer.submit(add(3)))).toBe(before + 3);
        expect(await scene.events()).toHaveLength(before + 3);
      }),
    );

    test(
      'a refusal of which nothing makes certain is told as unknown, when its time is over',
      withInstances(
        2,
        async (scene) => {
          await settle(scene);
          const [writer, other] = scene.logs as [EventLog, EventLog];
          await writer.submit(add(1));
          scene.hop.hold('1');
          const answer = told(other.submit(add(1)));
          await scene.hop.holds('1');
          scene.hop.cut('1');
          expect(await answer).toBe('OUTCOME_UNKNOWN');
        },
        { commitLimit: 3_000 },
      ),
    );
  });
}
