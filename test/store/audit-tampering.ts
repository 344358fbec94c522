import { describe, expect, test } from 'vitest';
import type { Failure } from '../../src/audit/checks/check.ts';
import { type Verdict, type VerifyOptions, verifyLog } from '../../src/audit/verify.ts';
import { headAt } from '../../src/log/event/chain.ts';
import type { Store } from '../../src/log/store.ts';
import { added, append, deleted, type LoggedPlantEvent, project, TRACEPARENT } from '../support/events.ts';
import { SOAK } from '../support/soak.ts';
import { type Database, PLACES, type Places, SIGNED, unreadableAt } from '../support/tampering.ts';
import { checkpointOf } from '../support/tree.ts';
import type { OpenedStore } from './open-store.ts';

/** An empty store, and its database to tamper with. */
export type OpenDatabase = () => Promise<OpenedStore & { database(): Promise<Database> }>;

/** The log that TAMPERINGS know. */
export const fillForTampering = async (store: Store): Promise<LoggedPlantEvent[]> => {
  const events = await append(
    store,
    added('alice', 7n, 'Moss'),
    deleted('alice', 7n),
    { ...added('alice', 1n, 'Fern', 'indoor'), idempotencyKey: 'k', traceparent: TRACEPARENT },
    added('alice', 2n, 'Palm'),
    added('bob', 1n, 'Oak'),
    added('bob', 2n, 'Elm', ''),
    added('carol', -5n, '🌱'),
    deleted('bob', 2n),
    added('bob', 2n, 'Elm again'),
    deleted('carol', -5n),
    added('zoe', 8n, 'Ivy'),
    added('zoe', 9n, 'Yew'),
  );
  await project(store);
  return events;
};

const placeOf = ({ position, plant, message }: Failure): number | string =>
  position ?? (plant === undefined ? message : `${plant.owner}/${plant.id}`);

/** The verdict, and where each question that is answered with no first fails. */
export async function verdictOf(store: Store, options?: VerifyOptions): Promise<{ verdict: Verdict; places: Places }> {
  let verdict: Verdict | undefined;
  for await (const step of verifyLog(store, options)) if ('answers' in step) verdict = step;
  const failed = verdict!.answers.flatMap(({ question, failure }) => (failure ? [[question, placeOf(failure)]] : []));
  return { verdict: verdict!, places: Object.fromEntries(failed) };
}

/** What the verification of every store has to find. `test/unit/audit-verify.test.ts` has what changes one event. */
export function tamperingContract(name: string, open: OpenDatabase): void {
  describe(`tampering on ${name}`, () => {
    test('what nobody touched is found to be whole, up to any checkpoint signed earlier', async () => {
      const opened = await open();
      const events = await fillForTampering(opened.store);
      for (const event of SOAK ? events : [events[0]!, events[SIGNED - 1]!, events.at(-1)!]) {
        const { verdict, places } = await verdictOf(opened.store, {
          checkpoint: checkpointOf(events.slice(0, event.position)),
        });
        expect({ ok: verdict.ok, places }).toEqual({ ok: true, places: {} });
        expect(verdict.head).toEqual(headAt(events.at(-1)!));
        expect(verdict.checkpoint).toBe(12);
      }
      await opened.cleanup();
    });

    test.each(PLACES)('$name: found, with the place', async ({ tamper, found }) => {
      const opened = await open();
      const events = await fillForTampering(opened.store);
      const database = await opened.database();
      await tamper(database, events);
      await database.close();
      const { verdict, places } = await verdictOf(opened.store, {
        checkpoint: checkpointOf(events.slice(0, SIGNED)),
      });
      expect(verdict.ok).toBe(false);
      const questions = verdict.answers.map(({ question }) => question);
      expect(places).toEqual(typeof found === 'number' ? unreadableAt(found, questions) : found);
      await opened.cleanup();
    });
  });
}
