import type { World } from '../world.ts';
import { kill } from './disturb.ts';

/** An operator takes a backup: what a majority has. */
export function backUp(world: World): void {
  world.backup = world.server.database.committed;
  world.tell('operator', `takes a backup that ends at ${world.backup.events.length}`);
}

/** An operator stops every instance, restores the last backup, and starts them again after a time. */
export function restore(world: World, milliseconds: number): void {
  const { backup } = world;
  if (backup === undefined) return;
  for (const process of world.operators) kill(world, process, 0);
  for (const { process } of world.instances) if (!process.isDead) kill(world, process, milliseconds);
  world.tell('operator', `restores the backup that ends at ${backup.events.length}`);
  world.restore(backup);
}
