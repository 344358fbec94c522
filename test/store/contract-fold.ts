import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PlantEvent } from '../../src/domain/events.ts';
import { keyString, MAX_INT64, MIN_INT64, type Plant, type PlantKey } from '../../src/domain/plant.ts';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import type { Store } from '../../src/log/store.ts';
import { textArbitrary } from '../support/arbitraries.ts';
import { added, append, deleted, project } from '../support/events.ts';
import { fold, readLog, readModel } from '../support/fold.ts';
import { count } from '../support/soak.ts';
import type { OpenStore } from './open-store.ts';

const OWNERS = ['alice', 'alice\u0000', 'a', '🌱'];
const IDS = [MIN_INT64, -1n, 0n, 7n, MAX_INT64];
const KEYS = OWNERS.flatMap((owner) => IDS.map((id) => ({ owner, id })));

/** A key that something happens to, and the plant that it gets if it has none. */
interface Touch extends Plant {
  readonly key: PlantKey;
}

const touch: fc.Arbitrary<Touch> = fc.record({
  key: fc.constantFrom(...KEYS),
  name: textArbitrary,
  tag: fc.option(textArbitrary, { nil: undefined }),
});

const operations = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ touches: fc.array(touch, { minLength: 1, maxLength: 30 }) }) },
    { weight: 4, arbitrary: fc.record({ project: fc.integer({ min: 1, max: 40 }) }) },
    { weight: 1, arbitrary: fc.constant({ restart: true }) },
  ),
  { maxLength: 20 },
);

/** Adds what is not there and deletes what is. */
function eventsOf(touches: readonly Touch[], present: Set<string>): PlantEvent[] {
  return touches.map(({ key: { owner, id }, name, tag }) => {
    const key = keyString(owner, id);
    if (present.delete(key)) return deleted(owner, id);
    present.add(key);
    return added(owner, id, name, tag);
  });
}

async function expectFold(store: Store, log: readonly LoggedEvent[], checkpoint: number): Promise<void> {
  const expected = fold(log.slice(0, checkpoint));
  expect(await store.checkpoint()).toBe(checkpoint);
  for (const owner of OWNERS) {
    const rows = expected.get(owner) ?? [];
    expect(await store.list(owner, undefined, 99)).toEqual({
      rows,
      checkpoint,
      upTo: checkpoint,
      generation: 0,
      whole: true,
    });
    expect(await readModel(store, owner)).toEqual({ rows, position: checkpoint });
  }
  const plants = KEYS.map(({ owner, id }) => {
    const row = expected.get(owner)?.find((found) => found.id === id);
    return row && { name: row.name, tag: row.tag };
  });
  expect(await store.get(KEYS)).toEqual({ rows: plants, checkpoint, upTo: checkpoint, generation: 0 });
}

/** That the read model of every store is the fold of its log up to the checkpoint. */
export function foldContract(open: OpenStore): void {
  test('through appends, steps of any size and restarts, the rows are the fold of the log up to the checkpoint', async () => {
    await fc.assert(
      fc.asyncProperty(operations, async (run) => {
        const opened = await open();
        let { store } = opened;
        const log: LoggedEvent[] = [];
        const present = new Set<string>();
        let checkpoint = 0;
        try {
          for (const operation of run) {
            if ('touches' in operation) log.push(...(await append(store, ...eventsOf(operation.touches, present))));
            else if ('project' in operation) checkpoint = await project(store, operation.project);
            else {
              await store.close();
              store = await opened.reopen();
            }
            expect(await readLog(store)).toEqual(log);
            await expectFold(store, log, checkpoint);
          }
        } finally {
          await opened.cleanup();
        }
      }),
      { numRuns: count(10, 500) },
    );
  });
}
