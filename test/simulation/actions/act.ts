import { IDS } from '../draws.ts';
import type { Action } from '../plan.ts';
import type { World } from '../world.ts';
import { asOf, LogReader } from './audit.ts';
import { cutOff, depose, disturbLine, failOver, freeze, kill, stop } from './disturb.ts';
import { eraseBy, eraseByCommand, move, newEraser, rebuild, verify } from './operators.ts';
import { command, get, list, submit, walk } from './plants.ts';
import { checkpoint, receipt } from './proofs.ts';
import { backUp, restore } from './restore.ts';
import { damage } from './tamper.ts';
import { Watcher } from './watch.ts';

type Act<Do> = (world: World, action: Extract<Action, { readonly do: Do }>) => void;

const ACCIDENTS = { freeze, kill, away: cutOff };

const ACTS: { readonly [Do in Action['do']]: Act<Do> } = {
  add: (world, action) => submit(world, world.instance(action.at), command(world, 'AddPlant', action)),
  delete: (world, action) => submit(world, world.instance(action.at), command(world, 'DeletePlant', action)),
  burst,
  retry: (world, { at }) => retry(world, at),
  list: (world, { at, owner, after, limit }) => list(world, world.instance(at), { owner, after, limit }),
  walk: (world, { at, owner, limit }) => walk(world, world.instance(at), { owner, after: undefined, limit }),
  get: (world, { at, owner, id }) => get(world, world.instance(at), owner, id),
  watch: (world, { at, owner }) => void world.watchers.push(new Watcher(world, world.instance(at), owner)),
  reconnect: (world, { at, watch }) => world.watchers[watch % world.watchers.length]?.reconnect(world.instance(at)),
  checkpoint: (world, { at }) => checkpoint(world, world.instance(at)),
  receipt: (world, { at, owner }) => receipt(world, world.instance(at), owner),
  erase: (world, { at, owner, byCommand }) =>
    byCommand
      ? eraseByCommand(world, newEraser(world, owner))
      : eraseBy(world, world.instance(at), newEraser(world, owner)),
  'erase again': (world, { at, byCommand }) => {
    const last = world.lastEraser;
    if (last === undefined) return;
    if (byCommand) eraseByCommand(world, last);
    else eraseBy(world, world.instance(at), last);
  },
  'as of': (world, { owner, back }) => asOf(world, owner, back),
  follow: (world, { at }) => void world.readers.push(new LogReader(world, world.instance(at))),
  rebuild,
  move,
  verify: (world) => verify(world),
  damage: (world, { what }) => damage(world, what),
  freeze: (world, action) => freeze(world, world.victim(action.at), action.for),
  kill: (world, action) => kill(world, world.victim(action.at), action.for),
  stop: (world, action) => stop(world, world.instance(action.at), action.for),
  befall: (world, { at, calls, for: time, how }) => {
    const victim = world.victim(at);
    victim?.afterCalls(calls, () => ACCIDENTS[how](world, victim, time));
  },
  'witness away': (world, action) => world.witnesses?.away(action.at, action.for),
  wait: () => {},
  away: (world, action) => cutOff(world, world.victim(action.at), action.for),
  jump: (world, { at, by }) => world.instance(at).process.jump(by),
  'fail over': (world, { hold }) => failOver(world, hold),
  depose: (world, action) => depose(world, world.instance(action.at).process, action.for),
  fill: (world, action) => world.server.fill(action.for),
  backup: backUp,
  restore: (world, action) => restore(world, action.for),
  'topic away': (world, action) => {
    if (world.topic !== undefined) world.topic.awayUntil = world.scheduler.now + action.for;
  },
  cut: (world, { at }) => world.network.cut(world.instance(at).process),
  line: (world, action) => disturbLine(world, action.is, [action.at, action.other], action.for),
};

/** Does an action. What comes of it comes later. */
export function act(world: World, action: Action): void {
  (ACTS[action.do] as Act<Action['do']>)(world, action as never);
}

/** Sends many commands at once, so that one append has several. With a key, some of them are the same. */
function burst(world: World, { at, owner, count, key }: Extract<Action, { readonly do: 'burst' }>): void {
  for (let left = count; left > 0; left--) {
    const type = world.random.chance(0.7) ? 'AddPlant' : 'DeletePlant';
    submit(world, world.instance(at), command(world, type, { owner, id: world.random.one(IDS), key }));
  }
}

/** Sends the last command with an idempotency key again. */
function retry(world: World, at: number): void {
  const last = [...world.commands.sent.values()].findLast(({ command }) => command.idempotencyKey !== undefined);
  if (last === undefined) return;
  const actor = `command-${world.commands.sent.size + 1}`;
  submit(world, world.instance(at), { ...last.command, actor });
}
