import fc from 'fast-check';
import { describe, test } from 'vitest';
import { count } from '../support/soak.ts';
import { comesToRest } from './comes-to-rest.ts';
import { killedRepairs, repairs, repairsAtOnce, verifications } from './commands/audit.ts';
import { damages } from './commands/damage.ts';
import { projections, restarts } from './commands/instances.ts';
import { longLists } from './commands/long-lists.ts';
import { forgeries, moves } from './commands/move.ts';
import { adds, deletes, lists } from './commands/plants.ts';
import { finishes, goesOn, kills } from './commands/tasks.ts';
import type { InstanceOptions } from './instance.ts';
import { Model } from './model.ts';
import type { Platform } from './platform.ts';
import { World } from './world.ts';

/** Most steps of a history. */
const STEPS = 40;
/** Milliseconds for which a history that fails is made shorter. */
const SHRINKING = 120_000;
/** Milliseconds that one history may take, on however busy a machine. */
const PATIENCE = 180_000;

const times = <T>(number: number, item: T): T[] => Array.from({ length: number }, () => item);

/** What may come next, the more often the more times it is named. */
const history = fc.commands(
  [
    ...times(8, adds),
    ...times(4, deletes),
    ...times(6, lists),
    ...times(4, longLists),
    ...times(5, projections),
    ...times(4, damages),
    ...times(3, repairs),
    ...times(3, repairsAtOnce),
    ...times(4, killedRepairs),
    ...times(3, verifications),
    ...times(8, goesOn),
    ...times(3, finishes),
    ...times(3, kills),
    ...times(1, restarts),
    ...times(1, moves),
    ...times(1, forgeries),
  ],
  { maxCommands: STEPS, size: 'max', disableReplayLog: true },
);

/** Bytes of lists that an instance remembers, if it remembers any. */
const MEMORY = 64 * 1024 * 1024;

const options = fc.record({ listCacheBytes: fc.constantFrom(MEMORY, MEMORY, 0) });

/** Runs histories on databases of one kind, each on an empty one, and tells how one fails. */
class Historian {
  readonly #open: () => Promise<Platform>;
  /** The first failure: when it was, and after how many steps. */
  #first: { readonly at: number; readonly steps: number } | undefined;

  constructor(open: () => Promise<Platform>) {
    this.#open = open;
  }

  /** Runs a history. Shorter ones than one that failed are tried until the time for that is over. */
  async run(steps: Iterable<fc.AsyncCommand<Model, World>>, instances: readonly InstanceOptions[]): Promise<void> {
    if (this.#first !== undefined && performance.now() > this.#first.at + SHRINKING) return;
    const model = new Model();
    const world = await World.open(await this.#open(), instances, model);
    try {
      await world.tell(async () => {
        await fc.asyncModelRun(() => ({ model, real: world }), steps);
        await comesToRest(model, world);
      });
    } catch (error) {
      this.#first ??= { at: performance.now(), steps: world.story.steps };
      (error as Error).message += `\n(when it was first seen: after ${this.#first.steps} steps)`;
      throw error;
    } finally {
      await world.remove();
    }
  }
}

/** Seeds of the histories: each is a history of its own. FAST_CHECK_SEED tells the one to run. */
function seeds(): number[] {
  const given = process.env.FAST_CHECK_SEED;
  if (given) return [Number(given)];
  return Array.from({ length: count(5, 100) }, () => Math.floor(Math.random() * 2 ** 31));
}

/** Whatever happens, in any order, lists are the fold and the verification tells the truth. */
export function historiesContract(name: string, open: () => Promise<Platform>): void {
  // They wait more than they compute.
  describe.concurrent(`whatever happens on ${name}, in any order, lists are the fold and verify tells the truth`, () => {
    test.each(seeds())(
      'seed %i',
      async (seed) => {
        const historian = new Historian(open);
        const property = fc.asyncProperty(history, fc.tuple(options, options), (...run) => historian.run(...run));
        await fc.assert(property, { seed, numRuns: 1 });
      },
      2 * PATIENCE + SHRINKING,
    );
  });
}
