import { describe, expect, test } from 'vitest';
import type { Command } from '../../src/domain/decider.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import { type EventLog, openLog } from '../../src/log/log.ts';
import { project } from '../support/events.ts';
import { withoutProjector } from '../support/faulty-store.ts';
import { readLog, verifyLog } from '../support/fold.ts';
import { count } from '../support/soak.ts';
import { type OpenStore, withStore } from './open-store.ts';

const add = (id: number, idempotencyKey?: string, owner = 'alice', name = 'Fern', tag?: string): Command => ({
  type: 'AddPlant',
  owner,
  actor: owner,
  idempotencyKey,
  plant: { id: BigInt(id), name, tag },
});
const remove = (id: number, idempotencyKey?: string, owner = 'alice'): Command => ({
  type: 'DeletePlant',
  owner,
  actor: owner,
  idempotencyKey,
  id: BigInt(id),
});

const quiet = { onFault: () => {} };

/** What a command is told: its event's position, or the reason of its refusal. */
const told = (log: EventLog, command: Command): Promise<number | string> =>
  log.submit(command).then(
    ({ position }) => position,
    (error: unknown) => {
      if (error instanceof PlantStoreError) return error.reason;
      throw error;
    },
  );

/** What idempotency keys have to do on any store. */
export function idempotencyContract(name: string, open: OpenStore): void {
  const on = withStore(open);

  describe(`idempotency keys on ${name}`, () => {
    test(
      'the first answer comes again: at once, when the plant is gone, when the read model has it all, elsewhere, after a restart',
      on(async ({ store, second, reopen }) => {
        const here = await openLog(withoutProjector(store), quiet);
        const elsewhere = await openLog(withoutProjector(await second()), quiet);
        const first = await here.submit(add(7, 'k'));
        const again = async (log: EventLog) =>
          expect(await log.submit(add(7, 'k'))).toEqual({ ...first, replayed: true });
        await again(here);
        await again(elsewhere);
        expect(await told(here, remove(7, 'd'))).toBe(2);
        expect(await told(elsewhere, add(7))).toBe(3);
        for (const log of [elsewhere, here]) {
          await again(log);
          expect(await told(log, remove(7, 'd'))).toBe(2);
        }
        expect(await told(here, remove(7))).toBe(4);
        await project(await second());
        await here.close();
        const restarted = await openLog(withoutProjector(await reopen()), quiet);
        for (const log of [elsewhere, restarted]) {
          await again(log);
          expect(await told(log, remove(7, 'd'))).toBe(2);
          expect(await told(log, remove(7, 'k'))).toBe('IDEMPOTENCY_KEY_REUSED');
        }
        expect((await restarted.head()).position).toBe(4);
        await restarted.close();
        await elsewhere.close();
      }),
    );

    test(
      'a key means something to its owner alone',
      on(async ({ store }) => {
        const log = await openLog(store, quiet);
        const pairs = [
          ['alice', 'k'],
          ['bob', 'k'],
          ['', '1:kx'],
          ['x', '1:k'],
          ['kx', '1:'],
        ] as const;
        for (const [index, [owner, key]] of pairs.entries())
          expect(await told(log, add(7, key, owner))).toBe(index + 1);
        for (const [index, [owner, key]] of pairs.entries())
          expect(await told(log, add(7, key, owner))).toBe(index + 1);
        await log.close();
      }),
    );

    test(
      'of all who send one request at once to three instances, all get the one event',
      on(async ({ store, second }) => {
        const logs = await Promise.all([store, await second(), await second()].map((handle) => openLog(handle, quiet)));
        const rounds = count(40, 1_000);
        for (let round = 0; round < rounds; round++) {
          const command = round % 2 === 0 ? add(7, `${round}`) : remove(7, `${round}`);
          const answers = await Promise.all(logs.flatMap((log) => [told(log, command), told(log, command)]));
          expect(answers).toEqual(Array(6).fill(round + 1));
        }
        verifyLog(await readLog(await second()));
        for (const log of logs) await log.close();
      }),
    );
  });
}
