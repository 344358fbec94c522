import type { Random } from './machine/random.ts';
import { OLD } from './machine/server.ts';
import type { Accident, Action } from './plan.ts';
import type { DamageName } from './store/damage.ts';

/** Few, so that steps meet on the same plants. */
export const OWNERS = ['ann', 'bob'] as const;

/** The ids of their plants. */
export const IDS = [0n, 1n, 2n, 3n, 4n] as const;

/** Draws an action. */
export type Draw = (random: Random) => Action;

const at = (random: Random) => random.whole(0, 2);
const owner = (random: Random) => random.one(OWNERS);
const id = (random: Random) => random.one(IDS);
const key = (random: Random) => (random.chance(0.25) ? `key ${random.whole(0, 3)}` : undefined);
/** From less than any time limit of the service to more than the longest. */
const long = (random: Random) => random.scaled(50, 20_000);

/** Longer than any lease lasts, and than others take to do what its holder did not. */
const LEASES = 13_000;

/** Longer than an instance waits for the writer to be heard. */
const UNHEARD = 1_800;

/** What a repair mends while life goes on. */
const MENDED: readonly DamageName[] = [
  'a row is lost',
  'a row is lost',
  'a row is changed',
  'a row is written',
  'the checkpoint is lost',
  'the checkpoint is set back',
];

/** The process that was started last, as an operator's command is. */
const LAST = -1;

const how = (random: Random) => random.one<Accident>(['freeze', 'freeze', 'kill', 'away']);

/** A process meets with an accident. */
const befall = (random: Random, victim: number): Action => ({
  do: 'befall',
  at: victim,
  calls: Math.floor(random.scaled(1, 60)),
  for: random.chance(0.5) ? random.scaled(50, 10_000) : random.between(LEASES, 3 * LEASES),
  how: how(random),
});

/** What owners do. */
export const OF_OWNERS: readonly Draw[] = [
  (random) => ({ do: 'add', at: at(random), owner: owner(random), id: id(random), key: key(random) }),
  (random) => ({ do: 'add', at: at(random), owner: owner(random), id: id(random) }),
  (random) => ({ do: 'add', at: at(random), owner: owner(random), id: id(random) }),
  (random) => ({ do: 'delete', at: at(random), owner: owner(random), id: id(random), key: key(random) }),
  (random) => ({ do: 'burst', at: at(random), owner: owner(random), count: random.whole(2, 9), key: key(random) }),
  (random) => ({ do: 'retry', at: at(random) }),
  (random) => ({ do: 'list', at: at(random), owner: owner(random) }),
  (random) => ({ do: 'list', at: at(random), owner: owner(random), after: id(random), limit: random.whole(0, 4) }),
  (random) => ({ do: 'walk', at: at(random), owner: owner(random), limit: random.whole(1, 3) }),
  (random) => ({ do: 'get', at: at(random), owner: owner(random), id: id(random) }),
];

/** What happens in some histories only: so many of these meet often, and each is often absent. */
export const OTHERS: Readonly<
  Record<string, { readonly share: number; readonly weight: number; readonly draw: Draw }>
> = {
  watch: { share: 0.5, weight: 1, draw: (random) => ({ do: 'watch', at: at(random), owner: owner(random) }) },
  reconnect: {
    share: 0.3,
    weight: 1,
    draw: (random) => ({ do: 'reconnect', at: at(random), watch: random.whole(0, 9) }),
  },
  checkpoint: { share: 0.2, weight: 1, draw: (random) => ({ do: 'checkpoint', at: at(random) }) },
  receipt: { share: 0.2, weight: 1, draw: (random) => ({ do: 'receipt', at: at(random), owner: owner(random) }) },
  erase: {
    share: 0.35,
    weight: 1,
    draw: (random) => ({ do: 'erase', at: at(random), owner: owner(random), byCommand: random.chance(0.5) }),
  },
  'erase again': {
    share: 0.2,
    weight: 0.7,
    draw: (random) => ({ do: 'erase again', at: at(random), byCommand: random.chance(0.5) }),
  },
  'as of': {
    share: 0.2,
    weight: 1,
    draw: (random) => ({
      do: 'as of',
      owner: random.chance(0.8) ? owner(random) : undefined,
      back: random.chance(0.5) ? 0 : random.whole(0, 20),
    }),
  },
  follow: { share: 0.2, weight: 0.5, draw: (random) => ({ do: 'follow', at: at(random) }) },
  rebuild: { share: 0.25, weight: 0.5, draw: () => ({ do: 'rebuild' }) },
  move: { share: 0.15, weight: 0.3, draw: () => ({ do: 'move' }) },
  verify: { share: 0.2, weight: 0.3, draw: () => ({ do: 'verify' }) },
  damage: { share: 0.06, weight: 0.5, draw: (random) => ({ do: 'damage', what: random.one(MENDED) }) },
  freeze: { share: 0.5, weight: 1, draw: (random) => ({ do: 'freeze', at: random.whole(0, 9), for: long(random) }) },
  kill: { share: 0.4, weight: 0.7, draw: (random) => ({ do: 'kill', at: random.whole(0, 9), for: long(random) }) },
  stop: { share: 0.2, weight: 0.7, draw: (random) => ({ do: 'stop', at: at(random), for: long(random) }) },
  'witness away': {
    share: 0.3,
    weight: 0.5,
    // At times for good.
    draw: (random) => ({ do: 'witness away', at: random.whole(0, 2), for: random.scaled(100, 10_000_000) }),
  },
  wait: { share: 0.3, weight: 0.3, draw: (random) => ({ do: 'wait', for: random.scaled(300, 10_000) }) },
  befall: { share: 0.3, weight: 0.7, draw: (random) => befall(random, random.whole(0, 9)) },
  away: { share: 0.2, weight: 0.5, draw: (random) => ({ do: 'away', at: random.whole(0, 9), for: long(random) }) },
  jump: {
    share: 0.2,
    weight: 0.5,
    draw: (random) => ({ do: 'jump', at: at(random), by: random.one([-1, 1]) * random.scaled(1, 100_000) }),
  },
  'fail over': { share: 0.25, weight: 0.5, draw: (random) => ({ do: 'fail over', hold: random.scaled(0.1, 2_000) }) },
  depose: {
    share: 0.2,
    weight: 0.7,
    draw: (random) => ({ do: 'depose', at: at(random), for: random.scaled(100, OLD) }),
  },
  fill: { share: 0.15, weight: 0.5, draw: (random) => ({ do: 'fill', for: random.scaled(1, 5_000) }) },
  backup: { share: 0.12, weight: 0.3, draw: () => ({ do: 'backup' }) },
  restore: {
    share: 0.1,
    weight: 0.3,
    draw: (random) => ({ do: 'restore', for: random.scaled(50, 10_000) }),
  },
  'topic away': {
    share: 0.08,
    weight: 0.5,
    draw: (random) => ({ do: 'topic away', for: random.scaled(1_000, 30_000) }),
  },
  cut: { share: 0.4, weight: 1, draw: (random) => ({ do: 'cut', at: at(random) }) },
  'slow line': {
    share: 0.2,
    weight: 0.5,
    draw: (random) => ({ do: 'line', is: 'slow', at: at(random), other: at(random), for: random.scaled(1, 500) }),
  },
  'silent line': {
    share: 0.35,
    weight: 0.7,
    draw: (random) => ({ do: 'line', is: 'silent', at: at(random), other: at(random), for: random.scaled(100, 5_000) }),
  },
};

/**
 * What takes long is frozen, or killed, at some call of it. Meanwhile others do its work, every lease ends, and life
 * goes on.
 */
export function accident(random: Random, action: Extract<Action, { do: 'erase' | 'rebuild' }>): Action[] {
  const whose = action.do === 'erase' ? action.owner : owner(random);
  const time = random.between(LEASES, 3 * LEASES);
  const wait = random.between(LEASES, time);
  const adds = (count: number): Action[] =>
    Array.from({ length: count }, () => ({ do: 'add', at: at(random), owner: whose, id: id(random) }));
  const erase: Action = { do: 'erase', at: at(random), owner: whose, byCommand: random.chance(0.5) };
  const whom = action.do === 'rebuild' || action.byCommand ? LAST : action.at;
  const calls = Math.floor(random.scaled(1, 60));
  const it: Action = { do: 'befall', at: whom, calls, for: time, how: how(random) };
  const another: Action = { do: 'freeze', at: at(random), for: time };
  return [
    ...adds(random.whole(0, 3)),
    ...(action.do === 'erase' && random.chance(0.3) ? [another, action] : [action, it]),
    action.do === 'rebuild' ? erase : random.one<Action>([erase, { do: 'move' }, { do: 'wait', for: 1 }]),
    { do: 'wait', for: wait },
    ...adds(random.whole(1, 5)),
    { do: 'wait', for: random.chance(0.5) ? time - wait + 100 : random.scaled(1, time - wait + 2) },
    ...adds(random.whole(0, 4)),
  ];
}

/** What reads the log is slow, and meanwhile its owner is erased. */
export function readSlowly(random: Random, action: Extract<Action, { do: 'as of' }>): Action[] {
  const whose = action.owner ?? owner(random);
  const time = random.scaled(500, LEASES);
  const calls = Math.floor(random.scaled(1, 12));
  return [
    ...Array.from(
      { length: random.whole(1, 4) },
      () => ({ do: 'burst', at: at(random), owner: whose, count: 5 }) as const,
    ),
    action,
    { do: 'befall', at: LAST, calls, for: time, how: 'freeze' },
    { do: 'erase', at: at(random), owner: whose, byCommand: false },
    { do: 'wait', for: time },
  ];
}

/** A backup, what is lost, and its restore. */
export function restored(random: Random, action: Extract<Action, { do: 'restore' }>): Action[] {
  const lost = Array.from({ length: random.whole(1, 12) }, () => random.one(OF_OWNERS)(random));
  // At times what is lost is signed.
  const signs: Action[] = random.chance(0.5)
    ? [
        { do: 'checkpoint', at: at(random) },
        { do: 'wait', for: 500 },
      ]
    : [];
  return [{ do: 'backup' }, ...lost, ...signs, action];
}

/** Rows are wrong for a time, and then they are repaired, at times by somebody who meets with an accident. */
export function damaged(random: Random, action: Extract<Action, { do: 'damage' }>): Action[] {
  const some = () => Array.from({ length: random.whole(0, 9) }, () => random.one(OF_OWNERS)(random));
  const repair: Action[] = random.chance(0.3) ? [{ do: 'rebuild' }, befall(random, LAST)] : [{ do: 'rebuild' }];
  const slow: Action[] = random.chance(0.4) ? [befall(random, at(random))] : [];
  return [...some(), action, ...slow, ...some(), ...repair, ...some()];
}

/** Commands are on their way while a line is silent, and arrive after their sender has taken them back. */
export function silence(random: Random, action: Extract<Action, { do: 'line' }>): Action[] {
  const whose = owner(random);
  const time = random.between(UNHEARD, 2 * UNHEARD);
  const burst = (): Action => ({ do: 'burst', at: random.one([action.at, action.other]), owner: whose, count: 4 });
  return [
    burst(),
    { ...action, for: time },
    burst(),
    { do: 'wait', for: random.between(UNHEARD, time) },
    burst(),
    burst(),
    { do: 'wait', for: time - UNHEARD },
    burst(),
  ];
}
