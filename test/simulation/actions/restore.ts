import { Violation } from '../judges/violation.ts';
import { unfinishedIn } from '../store/erasures.ts';
import type { World } from '../world.ts';
import { kill } from './disturb.ts';

/** Milliseconds after which an instance has noticed that the log was replaced, once it can. */
const NOTICED = 10_000;

/** An operator takes a backup: what a majority has. */
export function backUp(world: World): void {
  world.backup = world.server.database.committed;
  world.tell('operator', `takes a backup that ends at ${world.backup.events.length}`);
}

/**
 * An operator restores the last backup: with every instance stopped, or, as nobody should, under running instances. Those
 * that have seen what is lost stop by themselves, and are started again after a time.
 */
export function restore(world: World, milliseconds: number, isRunning: boolean): void {
  const { backup } = world;
  if (backup === undefined) return;
  // An instance that has not noticed would finish in the restored log an erasure that the restore has lost.
  const mayRun =
    isRunning && unfinishedIn(world.server.database.latest).length === 0 && unfinishedIn(backup).length === 0;
  for (const process of world.operators) kill(world, process, 0);
  if (!mayRun) for (const { process } of world.instances) if (!process.isDead) kill(world, process, milliseconds);
  world.tell(
    'operator',
    `restores the backup that ends at ${backup.events.length}${mayRun ? ', under instances' : ''}`,
  );
  world.restore(backup, mayRun);
  if (mayRun) world.scheduler.after(milliseconds, undefined, () => startAgain(world));
}

/** Kafka is restored as it was some time ago, with its checkpoint. The publisher finds out by itself. */
export function rewindTopic(world: World, by: number): void {
  const { topic, server, scheduler } = world;
  if (topic === undefined) return;
  topic.rewind(scheduler.now - by, () => server.database.committed.events);
  world.tell('operator', `restores the topic to ${topic.end.position}`);
}

/** As an operator does who hears that the log was replaced: stops every instance, and starts it again. */
function startAgain(world: World): void {
  for (const { process } of world.instances) if (!process.isDead) kill(world, process, 1);
}

/** The same, once every instance has noticed whose log has lost events. */
export async function replaceStopped(world: World): Promise<void> {
  if (!world.restores.some(({ isRunning }) => isRunning)) return;
  await world.pass(NOTICED);
  for (const { process, service } of world.instances) {
    const { changed, status } = service?.log ?? {};
    world.judge(() => {
      if (changed?.aborted === false && status!.head > world.truth.end)
        throw new Violation('progress', `${process.name} has not noticed that the log was replaced`);
    });
  }
  startAgain(world);
}
