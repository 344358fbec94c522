import { Violation } from '../judges/violation.ts';
import { DAMAGES, type DamageName } from '../store/damage.ts';
import { unfinishedIn } from '../store/erasures.ts';
import type { World } from '../world.ts';
import { rebuild } from './operators.ts';

/** Milliseconds until a command of an operator has come to its end. */
const PATIENCE = 120_000;
/** Longer than a rebuild that was killed keeps others away. */
const LEASE = 11_000;
/** Most repairs of one damage. */
const ATTEMPTS = 5;

/** The read model is damaged. */
export function damage(world: World, what: DamageName): void {
  const { database } = world.server;
  // An erasure and a repair of a lost checkpoint wait for each other: the store has to be restored from a backup.
  if (unfinishedIn(database.latest).length > 0 && what.startsWith('the checkpoint')) return;
  const changes = DAMAGES[what](database.latest, world.random.of('damage'));
  if (changes === undefined) return;
  world.tell('mallory', what);
  world.damaged(what === 'a row is lost');
  database.commit(database.write(() => ({ changes, result: undefined })).version);
}

/** An operator repairs what is damaged, until it is whole. */
export async function repairDamage(world: World): Promise<void> {
  for (let attempt = 0; world.isDamaged && world.violation === undefined; attempt++) {
    await world.pass(LEASE);
    rebuild(world);
    await untilDone(world);
    world.judge(() => {
      if (attempt === ATTEMPTS) throw new Violation('progress', 'no repair comes to its end');
    });
  }
}

async function untilDone(world: World): Promise<void> {
  const end = world.scheduler.now + PATIENCE;
  while (world.operators.size > 0 && world.violation === undefined && world.scheduler.now < end) await world.pass(200);
  world.judge(() => {
    if (world.operators.size > 0) throw new Violation('progress', `${[...world.operators][0]!.name} does not end`);
  });
}
