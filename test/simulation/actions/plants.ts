import type { PlantCommand } from '../../../src/domain/decider.ts';
import { PLANT_FIELDS, type Plant, plantOfTexts, withId } from '../../../src/domain/plant.ts';
import type { PlantRow } from '../../../src/log/store.ts';
import type { Listing, ListQuery } from '../../../src/log/view/listing.ts';
import { pause } from '../../../src/time/pause.ts';
import type { Instance } from '../instance.ts';
import { judgeGet, judgeList } from '../judges/answers.ts';
import { Violation } from '../judges/violation.ts';
import type { World } from '../world.ts';

/** Characters that make a list of a few plants too long for memory. */
const LONG = 'x'.repeat(50_000);

/** The texts of a plant, no two alike. One with an even id lacks what a plant may lack. */
function textsOf(text: string, id: bigint): Plant {
  const cells = PLANT_FIELDS.map(({ name, isRequired }) => (isRequired || id % 2n !== 0n ? `${text} ${name}` : null));
  return plantOfTexts(cells, 0);
}

/** Makes a command that nobody sent before. */
export function command(
  world: World,
  type: PlantCommand['type'],
  { owner, id, key }: { owner: string; id: bigint; key?: string | undefined },
): PlantCommand {
  const actor = `command-${world.commands.sent.size + 1}`;
  const about = { owner, actor, idempotencyKey: key && `${key} ${type} ${id}` };
  if (type === 'DeletePlant') return { type, ...about, id };
  // With a key, the same request has the same texts.
  const texts = textsOf(key ?? actor, id);
  const name = texts.name + (world.plan.longNames ? LONG : '');
  return { type, ...about, plant: withId(id, { ...texts, name }) };
}

/** Sends a command to an instance. */
export function submit(world: World, { process, service }: Instance, toSend: PlantCommand): void {
  if (service === undefined) return;
  const { commands, scheduler } = world;
  // Another instance may decide.
  const sent = commands.send(toSend, scheduler.now, world.freshness.of());
  world.call(process, async () => {
    sent.by = process;
    try {
      const committed = await service.log.submit(toSend);
      world.tell(
        process.name,
        `${toSend.actor} is applied at ${committed.position}${committed.replayed ? ' (replayed)' : ''}`,
      );
      world.judge(() => commands.applied(sent, committed, scheduler.now));
    } catch (error) {
      world.tell(process.name, `${toSend.actor} is refused: ${(error as Error).message}`);
      const refuse = () => commands.refused(sent, error, scheduler.now);
      if (world.isMisled && world.mayBeWrong(sent.called)) return void excused(refuse);
      world.judge(refuse);
    }
  });
}

/** Does what is judged where a decision on wrong rows may be the cause of what is wrong. */
function excused(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
  }
}

/** Asks an instance for a list, and judges it. Calls back with it; a client that gets none does not. */
export function list(
  world: World,
  { process, service }: Instance,
  query: ListQuery,
  then: (list: Listing) => void = () => {},
): void {
  if (service === undefined) return;
  const { from, since: called } = world.freshness.of(process);
  world.call(process, async () => {
    try {
      const found = await service.log.list(query);
      const span = { from: Math.max(from, toldErasure(world, query.owner)), to: world.truth.end };
      const rows = await collected(world, found);
      world.tell(process.name, `lists ${query.owner} at ${found.position}: ${rows.map(({ id }) => id)}`);
      if (world.mayBeWrong(called)) return;
      world.judge(() => {
        judgeList(world.truth, query, { ...found, rows }, span);
        world.commands.shown(found.position);
      });
      then(found);
    } catch (error) {
      world.tell(process.name, `lists nothing: ${(error as Error).message}`);
    }
  });
}

/**
 * The position of the owner's last erasure whose outcome was given: whatever is answered from then on is as of a later
 * one, also what was asked before. A server that was deposed may know of no erasure.
 */
export const toldErasure = ({ plan, commands }: World, owner: string): number =>
  plan.strictReads ? (commands.erased.get(owner) ?? 0) : 0;

async function collected(world: World, { plants }: Listing): Promise<PlantRow[]> {
  if (Symbol.iterator in plants) return [...plants];
  const rows: PlantRow[] = [];
  for await (const batch of plants) {
    rows.push(...batch);
    // Readers of long lists take their time.
    await pause(world.random.scaled(1, 3_000));
  }
  return rows;
}

/** Asks an instance for a list in pages. Each is as of its own time. */
export function walk(world: World, instance: Instance, query: ListQuery): void {
  list(world, instance, query, ({ next }) => {
    if (next !== undefined) walk(world, instance, { ...query, after: next });
  });
}

/** Asks an instance for one plant, and judges it. */
export function get(world: World, { process, service }: Instance, owner: string, id: bigint): void {
  if (service === undefined) return;
  const { from, since: called } = world.freshness.of(process);
  world.call(process, async () => {
    try {
      const found = await service.log.get({ owner, id });
      if (world.mayBeWrong(called)) return;
      world.tell(process.name, `finds ${owner}/${id}: ${found?.name.slice(0, 20)}`);
      const span = { from: Math.max(from, toldErasure(world, owner)), to: world.truth.end };
      world.judge(() => world.commands.shown(judgeGet(world.truth, owner, id, found, span)));
    } catch (error) {
      world.tell(process.name, `finds nothing: ${(error as Error).message}`);
    }
  });
}
