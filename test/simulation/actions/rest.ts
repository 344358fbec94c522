import type { Unfinished } from '../../../src/log/store.ts';
import { IDS, OWNERS } from '../draws.ts';
import { isOfEarlierLog, judgeTopic } from '../judges/topic.ts';
import { Violation } from '../judges/violation.ts';
import { unfinishedIn } from '../store/erasures.ts';
import type { World } from '../world.ts';
import { heal } from './disturb.ts';
import { rebuild } from './operators.ts';
import { command, get, list, submit } from './plants.ts';
import { asksCheckpoints, untilCosigned } from './proofs.ts';
import { repairDamage } from './tamper.ts';

/** Milliseconds until everything has come to its end, once faults have ended: longer than any time limit. */
const PATIENCE = 120_000;
const POLL_INTERVAL = 200;

/** What has not come to its end. Undefined: all has. */
function unfinished(world: World): string | undefined {
  const { events, checkpoint = 0 } = world.server.database.committed;
  // What waits for a topic of a log that was restored waits for an operator.
  const topic = world.topic && !isOfEarlierLog(world.truth, world.topic) ? world.topic : undefined;
  const isOver = ({ erases }: Unfinished) => world.topic !== undefined && topic === undefined && erases.isCleared;
  const erasures = unfinishedIn(world.server.database.committed).filter((each) => !isOver(each));
  if (world.pending.size > 0) return `${world.pending.size} calls have no answer`;
  if (world.operators.size > 0) return `${[...world.operators].map(({ name }) => name)} go on`;
  if ((checkpoint ?? 0) < (events.at(-1)?.position ?? 0)) return `the read model stays at ${checkpoint}`;
  if (erasures.length > 0) return `${erasures.length} erasures are not finished`;
  if (world.instances.some(({ service, isStopping }) => service === undefined || isStopping))
    return 'an instance has not started';
  const end = world.truth.end;
  const behind = world.instances.find(({ service }) => service!.log.status.checkpoint < end);
  if (behind !== undefined) return `${behind.process.name} does not see ${end}`;
  if ((topic?.end.position ?? end) < end) return `the topic ends at ${topic?.end.position}`;
  if (world.readers.some(({ judge }) => judge.position < end)) return 'a reader of the log is behind';
  for (const { process, faults } of world.instances)
    for (const fault of Object.values(faults)) if (fault !== undefined) return `${process.name} still says: ${fault}`;
  return world.watchers.find(({ judge }) => !judge.isCaughtUp)?.judge.missing;
}

async function untilAtRest(world: World): Promise<void> {
  const end = world.scheduler.now + PATIENCE;
  for (;;) {
    await world.pass(POLL_INTERVAL);
    if (world.violation !== undefined) return;
    const what = unfinished(world);
    if (what === undefined) return;
    // An event that was decided on wrong rows, and came after their repair, keeps the projector.
    if (world.isMisled && what.startsWith('the read model stays')) rebuild(world);
    if (world.scheduler.now < end) continue;
    const late = world.watchers.find(({ judge }) => !judge.isCaughtUp);
    const kind = what === late?.judge.missing ? 'watch' : 'progress';
    return world.judge(() => {
      throw new Violation(kind, `two minutes after the last fault: ${what}`, late?.judge.owner);
    });
  }
}

/** Asks every instance for every plant, in every way: what an instance remembers shows in what it decides. */
async function asksAll(world: World): Promise<void> {
  for (const instance of world.instances)
    for (const owner of OWNERS) {
      list(world, instance, { owner, after: undefined, limit: undefined });
      for (const id of IDS) {
        get(world, instance, owner, id);
        const type = world.random.one(['AddPlant', 'DeletePlant'] as const);
        submit(world, instance, command(world, type, { owner, id }));
        await world.pass(world.random.scaled(0.01, 10));
      }
    }
}

/** Every fault ends, everything comes to its end, and then all is as if nothing had ever happened. */
export async function comeToRest(world: World): Promise<void> {
  if (world.violation === undefined) heal(world);
  await repairDamage(world);
  await asksAll(world);
  await untilAtRest(world);
  await asksAll(world);
  await untilAtRest(world);
  // Until here witnesses may have been away: nothing else waits for them.
  // A log that was restored may be none that witnesses cosign.
  if (world.violation === undefined && !world.wasRestored) await untilCosigned(world);
  if (world.violation === undefined) await asksCheckpoints(world);
  if (world.violation !== undefined) return;
  const { topic, truth, commands } = world;
  world.judge(() => {
    commands.finish();
    if (topic !== undefined) judgeTopic(truth, topic);
  });
}
