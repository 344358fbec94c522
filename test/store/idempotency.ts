import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Command } from '../../src/domain/decider.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import { IDEMPOTENCY_TTL } from '../../src/domain/idempotency.ts';
import { seal } from '../../src/log/event/chain.ts';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import { type EventLog, openLog } from '../../src/log/log.ts';
import { added, project } from '../support/events.ts';
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
      'the same key with another request is refused, and changes nothing',
      on(async ({ store }) => {
        const log = await openLog(store, quiet);
        expect(await told(log, add(7, 'k', 'alice', 'Fern', ''))).toBe(1);
        const others = [
          add(8, 'k', 'alice', 'Fern', ''),
          add(7, 'k', 'alice', 'Moss', ''),
          add(7, 'k'),
          remove(7, 'k'),
        ];
        for (const other of others) expect(await told(log, other)).toBe('IDEMPOTENCY_KEY_REUSED');
        // In one batch, too, with the first of them new.
        const batch = [add(9, 'b'), add(9, 'b'), remove(9, 'b'), add(9), add(9, 'b')];
        expect(await Promise.all(batch.map((command) => told(log, command)))).toEqual([
          2,
          2,
          'IDEMPOTENCY_KEY_REUSED',
          'PLANT_ALREADY_EXISTS',
          2,
        ]);
        const same: Command = { ...add(7, 'k', 'alice', 'Fern', ''), actor: 'another of alice’s' };
        expect(await told(log, same)).toBe(1);
        expect((await log.head()).position).toBe(2);
        await log.close();
      }),
    );

    test(
      'a refusal is not remembered: the same request is decided anew',
      on(async ({ store }) => {
        const log = await openLog(store, quiet);
        expect(await told(log, remove(7, 'd'))).toBe('PLANT_NOT_FOUND');
        expect(await told(log, add(7))).toBe(1);
        expect(await told(log, add(7, 'a'))).toBe('PLANT_ALREADY_EXISTS');
        expect(await told(log, remove(7, 'd'))).toBe(2);
        expect(await told(log, add(7, 'a'))).toBe(3);
        expect(await told(log, remove(7, 'd'))).toBe(2);
        await log.close();
      }),
    );

    test(
      'a key is as new once it is too old, and is then the last request’s',
      on(async ({ store, second }) => {
        const age = (milliseconds: number) => Date.now() - IDEMPOTENCY_TTL + milliseconds;
        let head = await store.head();
        const old = [
          { event: { ...added('alice', 1n), idempotencyKey: 'expired' }, time: age(0) },
          { event: { ...added('alice', 2n), idempotencyKey: 'kept' }, time: age(600_000) },
        ].map(({ event, time }) => {
          head = seal(head, event, randomUUID(), time);
          return head as LoggedEvent;
        });
        await store.append(old);
        await project(await second());
        const log = await openLog(store, quiet);
        const commands = [
          add(2, 'kept'),
          add(1, 'expired'),
          add(3, 'expired'),
          add(3, 'expired'),
          remove(2, 'expired'),
        ];
        const answers: (number | string)[] = [];
        for (const command of commands) answers.push(await told(log, command));
        expect(answers).toEqual([2, 'PLANT_ALREADY_EXISTS', 3, 3, 'IDEMPOTENCY_KEY_REUSED']);
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
