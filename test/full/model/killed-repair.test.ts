import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { comesToRest } from '../../model/comes-to-rest.ts';
import { beginRepair, KillRepair, REPAIR_CALLS } from '../../model/commands/audit.ts';
import { Damage } from '../../model/commands/damage.ts';
import { Project, Restart } from '../../model/commands/instances.ts';
import { Add } from '../../model/commands/plants.ts';
import { Model } from '../../model/model.ts';
import { openMongoPlatform } from '../../model/mongo-platform.ts';
import type { Platform } from '../../model/platform.ts';
import { openSqlitePlatform } from '../../model/sqlite-platform.ts';
import { World } from '../../model/world.ts';
import { HAS_MONGODB } from '../../store/open-mongo.ts';
import { plantstore } from '../../support/run.ts';
import { count, SOAK } from '../../support/soak.ts';

const MEMORY = { listCacheBytes: 64 * 1024 * 1024 };
/** Where a repair is killed: in short runs where it has done some. Random histories kill it anywhere. */
const CALLS = SOAK ? REPAIR_CALLS : ['lease', 'all a batch', 'advance'];

/** Milliseconds that a test may take, on however busy a machine. */
const PATIENCE = 180_000 * count(1, 3);

const FERN = { name: 'Fern', tag: undefined };

const alices = (id: bigint) => ({ instance: 0, owner: 'alice', id });

function killedRepairContract(name: string, open: () => Promise<Platform>): void {
  const on = (body: (model: Model, world: World) => Promise<void>) => async () => {
    const model = new Model();
    const world = await World.open(await open(), [MEMORY, MEMORY], model);
    try {
      await world.tell(() => body(model, world));
    } finally {
      await world.remove();
    }
  };

  /** A plant whose row is missing, and an instance that knows it no other way. */
  const damage = async (model: Model, world: World, id: bigint) => {
    for (const step of [new Add(alices(id), FERN), new Project(0), new Damage(alices(id), true), new Restart(0)])
      await step.run(model, world);
  };

  // They wait more than they compute.
  describe.concurrent(`a repair on ${name}`, () => {
    test.each([false, true])(
      'killed at any of its calls (done: %s), it has made nothing worse, and the next does the rest',
      (done) =>
        on(async (model, world) => {
          for (const [id, call] of CALLS.entries()) {
            await damage(model, world, BigInt(id));
            await new KillRepair(call, done).run(model, world);
            await comesToRest(model, world);
          }
        })(),
      PATIENCE,
    );

    test.runIf(SOAK).each([false, true])(
      'killed at each of its calls in turn (done: %s), it does so too',
      (done) =>
        on(async (model, world) => {
          for (let call = 0, ended = false; !ended; call++) {
            await damage(model, world, BigInt(call));
            const task = await beginRepair(model, world);
            await task.step(call);
            world.story.step(`kill a repair at its call ${call}, ${task.gate.waiting}`);
            ended = task.outcome !== undefined;
            if (ended) expect(task.outcome).not.toHaveProperty('error');
            else await task.kill(done);
            await world.holds(model);
            await comesToRest(model, world);
          }
        })(),
      PATIENCE,
    );

    test(
      'of another process that is killed at any moment makes nothing worse; instances answer exactly',
      on(async (model, world) => {
        const { environment } = world.platform;
        const began = performance.now();
        expect(await plantstore(['audit', 'rebuild'], environment)).toMatchObject({ code: 0 });
        const whole = performance.now() - began;
        for (let round = 0; round < count(2, 60); round++) {
          await damage(model, world, BigInt(round));
          await world.platform.expireLeases();
          const child = spawn(process.execPath, ['bin/plantstore.js', 'audit', 'rebuild'], {
            env: { PATH: process.env.PATH, ...environment },
            stdio: 'ignore',
          });
          await sleep(whole * (0.4 + 0.6 * Math.random()));
          child.kill('SIGKILL');
          if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
          // It had come to its step if the row is there again.
          const { rows } = await world.platform.rows();
          if (rows.some(({ owner, id }) => owner === 'alice' && id === BigInt(round))) world.repaired(model.damages);
          await world.holds(model);
          await comesToRest(model, world);
        }
      }),
      PATIENCE,
    );
  });
}

killedRepairContract('SQLite', openSqlitePlatform);
describe.runIf(HAS_MONGODB)('MongoDB', () => killedRepairContract('MongoDB', openMongoPlatform));
