import { repair } from './commands/audit.ts';
import { IDS, refuses } from './commands/plants.ts';
import type { Model } from './model.ts';
import { NURSERY, OWNERS, type World } from './world.ts';

/** Whatever was begun comes to its end, the read model is repaired, and then all is as if nothing had ever happened. */
export async function comesToRest(model: Model, world: World): Promise<void> {
  world.story.step('all that goes on comes to its end');
  for (; world.running.length > 0; model.tasks.shift()) {
    const { task, judge } = world.running.shift()!;
    await task.finish();
    await judge(model);
    await world.look(model);
  }
  world.story.step('the read model is repaired');
  await repair(model, world);
  await world.holds(model);
  for (const [instance] of world.instances.entries()) {
    for (const owner of [...OWNERS, NURSERY])
      await world.lists(model, instance, { owner, after: undefined, limit: undefined });
    for (const owner of OWNERS) for (const id of IDS) await refuses(model, world, { instance, owner, id });
  }
}
