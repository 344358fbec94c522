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

/** Kafka is restored as it was some time ago, with its checkpoint. The publisher finds out by itself. */
export function rewindTopic(world: World, by: number): void {
  const { topic, server, scheduler } = world;
  if (topic === undefined) return;
  topic.rewind(scheduler.now - by, () => server.database.committed.events);
  world.tell('operator', `restores the topic to ${topic.end.position}`);
}
