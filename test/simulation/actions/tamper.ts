import type { Verdict } from '../../../src/audit/verify.ts';
import { judgeFound, judgeVerdict } from '../judges/verdict.ts';
import { Violation } from '../judges/violation.ts';
import { DAMAGES, type DamageName } from '../store/damage.ts';
import { unfinishedIn } from '../store/erasures.ts';
import type { World } from '../world.ts';
import { rebuild, verify } from './operators.ts';

/** Milliseconds until a command of an operator has come to its end. */
const PATIENCE = 120_000;
/** Longer than a rebuild that was killed keeps others away. */
const LEASE = 11_000;
/** Most repairs of one damage. */
const ATTEMPTS = 5;

/**
 * Somebody with access to the database changes it, once all is at rest. `audit verify` must find it. What `audit rebuild`
 * mends is whole again after it; anything else ends the history.
 */
export async function tamper(world: World, what: DamageName): Promise<void> {
  const { found, isMended, change } = DAMAGES[what];
  const { database } = world.server;
  const changes = change(database.latest, world.random.of('damage'));
  if (changes === undefined) return;
  world.tell('mallory', what);
  world.isTamperedWith = true;
  // What instances make of a log that is wrong for good is not judged.
  if (!isMended) for (const { process } of world.instances) process.freeze();
  database.commit(database.write(() => ({ changes, result: undefined })).version);
  await verified(world, (verdict) => judgeFound(verdict, what, found));
  if (!isMended || world.violation !== undefined) return;
  // An earlier one may have been killed.
  await world.pass(LEASE);
  rebuild(world);
  await untilDone(world);
  await verified(world, (verdict) => judgeVerdict(verdict, false));
  if (world.violation !== undefined) return;
  world.isTamperedWith = false;
  world.look(database.committed);
}

/** The read model is damaged in the middle of life. */
export function damage(world: World, what: DamageName): void {
  const { database } = world.server;
  // An erasure and a repair of a lost checkpoint wait for each other: the store has to be restored from a backup.
  if (unfinishedIn(database.latest).length > 0 && what.startsWith('the checkpoint')) return;
  const changes = DAMAGES[what].change(database.latest, world.random.of('damage'));
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

async function verified(world: World, judge: (verdict: Verdict) => void): Promise<void> {
  if (world.violation !== undefined) return;
  let isAnswered = false;
  verify(world, (verdict) => {
    isAnswered = true;
    judge(verdict);
  });
  await untilDone(world);
  world.judge(() => {
    if (!isAnswered) throw new Violation('verify', 'audit verify gives no verdict');
  });
}

async function untilDone(world: World): Promise<void> {
  const end = world.scheduler.now + PATIENCE;
  while (world.operators.size > 0 && world.violation === undefined && world.scheduler.now < end) await world.pass(200);
  world.judge(() => {
    if (world.operators.size > 0) throw new Violation('progress', `${[...world.operators][0]!.name} does not end`);
  });
}
