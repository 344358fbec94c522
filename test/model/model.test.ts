import fc from 'fast-check';
import { describe, test } from 'vitest';
import { HAS_MONGODB } from '../store/open-mongo.ts';
import { count } from '../support/soak.ts';
import { comesToRest } from './comes-to-rest.ts';
import { killedRebuilds, rebuilds, rebuildsAtOnce, verifications } from './commands/audit.ts';
import { damages } from './commands/damage.ts';
import { projections, restarts } from './commands/instances.ts';
import { longLists } from './commands/long-lists.ts';
import { forgeries, moves } from './commands/move.ts';
import { adds, deletes, lists } from './commands/plants.ts';
import { finishes, goesOn, kills } from './commands/tasks.ts';
import { Model } from './model.ts';
import { openMongoPlatform } from './mongo-platform.ts';
import type { Platform } from './platform.ts';
import { openSqlitePlatform } from './sqlite-platform.ts';
import { World } from './world.ts';

/** Most steps of a history. */
const STEPS = 40;
/** Milliseconds for which a history that fails is made shorter. */
const SHRINKING = 120_000;

const times = <T>(number: number, item: T): T[] => Array.from({ length: number }, () => item);

/** What may come next, the more often the more times it is named. */
const history = fc.commands(
  [
    ...times(8, adds),
    ...times(4, deletes),
    ...times(3, lists),
    ...times(4, longLists),
    ...times(5, projections),
    ...times(5, damages),
    ...times(3, rebuilds),
    ...times(3, rebuildsAtOnce),
    ...times(2, killedRebuilds),
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

const options = fc.record({ listCacheBytes: fc.constantFrom(0, 64 * 1024 * 1024) });

/** Runs one history on an empty database, and tells it when it fails. */
async function run(
  open: () => Promise<Platform>,
  steps: Iterable<fc.AsyncCommand<Model, World>>,
  instances: readonly { listCacheBytes: number }[],
): Promise<void> {
  const model = new Model();
  const world = await World.open(await open(), instances, model);
  try {
    await world.tell(async () => {
      await fc.asyncModelRun(() => ({ model, real: world }), steps);
      await comesToRest(model, world);
    });
  } finally {
    await world.remove();
  }
}

/** Seeds of the histories: each is a history of its own. FAST_CHECK_SEED tells the one to run. */
function seeds(): number[] {
  const given = process.env.FAST_CHECK_SEED;
  if (given) return [Number(given)];
  return Array.from({ length: count(10, 100) }, () => Math.floor(Math.random() * 2 ** 31));
}

function modelContract(name: string, open: () => Promise<Platform>): void {
  describe(`whatever happens on ${name}, in any order, lists are the fold and the verification tells the truth`, () => {
    test.each(seeds())(
      'seed %i',
      async (seed) => {
        await fc.assert(
          fc.asyncProperty(history, fc.tuple(options, options), (steps, instances) => run(open, steps, instances)),
          { seed, numRuns: 1, interruptAfterTimeLimit: SHRINKING, markInterruptAsFailure: true },
        );
      },
      SHRINKING + 60_000,
    );
  });
}

modelContract('SQLite', openSqlitePlatform);
describe.runIf(HAS_MONGODB)('MongoDB', () => modelContract('MongoDB', openMongoPlatform));
