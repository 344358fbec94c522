import type { Instance } from '../instance.ts';
import type { Process } from '../machine/process.ts';
import type { World } from '../world.ts';

/** Milliseconds for which an instance that stops serves on, and after which it has to be killed. */
const GRACE = 1_000;
const STOP_LIMIT = 25_000;

/** Freezes a process for a time. */
export function freeze(world: World, process: Process | undefined, milliseconds: number): void {
  if (process === undefined) return;
  world.tell(process.name, `is frozen for ${milliseconds.toFixed()} ms`);
  process.freeze();
  world.scheduler.after(milliseconds, undefined, () => {
    if (!process.isFrozen) return;
    world.tell(process.name, 'wakes');
    process.wake();
  });
}

/** Kills a process. An instance is started again after a time. */
export function kill(world: World, process: Process | undefined, milliseconds: number): void {
  if (process === undefined) return;
  world.tell(process.name, 'is killed');
  process.kill();
  world.operators.delete(process);
  world.network.cut(process);
  for (const [call, by] of world.pending) if (by === process) world.pending.delete(call);
  for (const reader of [...world.watchers, ...world.readers]) reader.lost(process);
  const index = world.instances.findIndex((instance) => instance.process === process);
  if (index < 0) return;
  world.scheduler.after(milliseconds, undefined, () => {
    if (world.instances[index]!.process !== process) return;
    world.tell(process.name, 'starts');
    world.start(index);
  });
}

/** Stops an instance as a supervisor does, and kills it if it takes too long. It is started again after a time. */
export function stop(world: World, instance: Instance, milliseconds: number): void {
  const { process, service } = instance;
  if (service === undefined || instance.isStopping) return;
  instance.isStopping = true;
  world.tell(process.name, 'is told to stop');
  const limit = world.scheduler.after(GRACE + STOP_LIMIT, undefined, () => end(false));
  const end = (isStopped: boolean) => {
    limit.isCancelled = true;
    if (process.isDead) return;
    world.tell(process.name, isStopped ? 'has stopped' : 'takes too long to stop');
    if (isStopped) world.judge(() => world.commands.stopped(process));
    kill(world, process, milliseconds);
  };
  process.do(() => void instance.stop(service, GRACE).then(() => end(true)));
}

/** A process cannot reach the database for a time. */
export function cutOff(world: World, process: Process | undefined, milliseconds: number): void {
  if (process === undefined) return;
  world.tell(process.name, `cannot reach the database for ${milliseconds.toFixed()} ms`);
  world.server.cutOff(process, milliseconds);
}

/** An instance reaches only a server that was deposed and does not know it, for a time. */
export function depose(world: World, process: Process, milliseconds: number): void {
  world.tell(process.name, `reaches only a deposed server for ${milliseconds.toFixed()} ms`);
  world.server.depose(process, milliseconds);
  world.freshness.deposed(process, milliseconds);
}

/** Replication stands still for a time, and then another server becomes the primary. */
export function failOver(world: World, hold: number): void {
  world.server.holdReplication(hold);
  world.scheduler.after(hold, undefined, () => {
    world.tell('database', 'fails over');
    world.server.failOver();
  });
}

/** Messages between two instances take longer, or wait, for a time. */
export function disturbLine(
  world: World,
  what: 'slow' | 'silent',
  ends: readonly number[],
  milliseconds: number,
): void {
  const [one, other] = ends.map((number) => world.instance(number).process.name);
  const line = world.network.line(one!, other!);
  if (what === 'slow') line.slowness = milliseconds;
  else line.silentUntil = world.scheduler.now + milliseconds;
}

/** Ends every fault: whatever was frozen wakes, whoever is dead starts. */
export function heal(world: World): void {
  world.tell('all', 'faults end');
  world.server.heal();
  world.network.heal();
  if (world.topic !== undefined) Object.assign(world.topic, { isCalm: true, awayUntil: 0 });
  for (const process of world.operators) process.wake();
  for (const [index, { process }] of world.instances.entries())
    if (process.isDead) world.start(index);
    else process.wake();
}
