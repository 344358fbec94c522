import { Random } from './machine/random.ts';
import type { Weather } from './machine/server.ts';

/** What is to happen. `at`: the number of an instance, and of a running process for what befalls processes. */
export type Action =
  | {
      readonly do: 'add';
      readonly at: number;
      readonly owner: string;
      readonly id: bigint;
      readonly key?: string | undefined;
    }
  | {
      readonly do: 'delete';
      readonly at: number;
      readonly owner: string;
      readonly id: bigint;
      readonly key?: string | undefined;
    }
  | { readonly do: 'retry'; readonly at: number }
  | {
      readonly do: 'list';
      readonly at: number;
      readonly owner: string;
      readonly after?: bigint;
      readonly limit?: number;
    }
  | { readonly do: 'walk'; readonly at: number; readonly owner: string; readonly limit: number }
  | { readonly do: 'get'; readonly at: number; readonly owner: string; readonly id: bigint }
  | { readonly do: 'watch'; readonly at: number; readonly owner: string }
  | { readonly do: 'reconnect'; readonly at: number; readonly watch: number }
  | { readonly do: 'checkpoint'; readonly at: number }
  | { readonly do: 'receipt'; readonly at: number; readonly owner: string }
  | { readonly do: 'erase'; readonly at: number; readonly owner: string; readonly byCommand: boolean }
  | { readonly do: 'rebuild' }
  | { readonly do: 'move' }
  | { readonly do: 'freeze'; readonly at: number; readonly for: number }
  | { readonly do: 'kill'; readonly at: number; readonly for: number }
  /** At a call of the database, so many calls from now, a process is frozen for a time, or killed for good. */
  | {
      readonly do: 'befall';
      readonly at: number;
      readonly calls: number;
      readonly for: number;
      readonly kills: boolean;
    }
  | { readonly do: 'wait'; readonly for: number }
  | { readonly do: 'away'; readonly at: number; readonly for: number }
  | { readonly do: 'jump'; readonly at: number; readonly by: number }
  | { readonly do: 'fail over'; readonly hold: number }
  | { readonly do: 'cut'; readonly at: number }
  | {
      readonly do: 'line';
      readonly is: 'slow' | 'silent';
      readonly at: number;
      readonly other: number;
      readonly for: number;
    };

/** An action, and how many milliseconds after the one before it happens. */
export type Step = Action & { readonly gap: number };

/** A history before it happens. */
export interface Plan {
  readonly instances: number;
  readonly publishes: boolean;
  /** Whether names are so long that few plants make a long list. */
  readonly longNames: boolean;
  readonly weather: Weather;
  readonly steps: readonly Step[];
}

/** Few, so that steps meet on the same plants. */
export const OWNERS = ['ann', 'bob'] as const;

/** The ids of their plants. */
export const IDS = [0n, 1n, 2n, 3n, 4n] as const;

type Draw = (random: Random) => Action;

const at = (random: Random) => random.whole(0, 2);
const owner = (random: Random) => random.one(OWNERS);
const id = (random: Random) => random.one(IDS);
const key = (random: Random) => (random.chance(0.25) ? `key ${random.whole(0, 3)}` : undefined);
/** From less than any time limit of the service to more than the longest. */
const long = (random: Random) => random.scaled(50, 20_000);

/** Longer than any lease lasts. */
const LEASES = 10_100;

/** The process that was started last, as an operator's command is. */
const LAST = -1;

const befall = (random: Random, victim: number): Action => ({
  do: 'befall',
  at: victim,
  calls: Math.floor(random.scaled(1, 60)),
  for: random.chance(0.5) ? random.scaled(50, 10_000) : random.between(LEASES, 3 * LEASES),
  kills: random.chance(0.3),
});

/** What owners do. */
const OF_OWNERS: readonly Draw[] = [
  (random) => ({ do: 'add', at: at(random), owner: owner(random), id: id(random), key: key(random) }),
  (random) => ({ do: 'add', at: at(random), owner: owner(random), id: id(random) }),
  (random) => ({ do: 'add', at: at(random), owner: owner(random), id: id(random) }),
  (random) => ({ do: 'delete', at: at(random), owner: owner(random), id: id(random), key: key(random) }),
  (random) => ({ do: 'retry', at: at(random) }),
  (random) => ({ do: 'list', at: at(random), owner: owner(random) }),
  (random) => ({ do: 'list', at: at(random), owner: owner(random), after: id(random), limit: random.whole(0, 4) }),
  (random) => ({ do: 'walk', at: at(random), owner: owner(random), limit: random.whole(1, 3) }),
  (random) => ({ do: 'get', at: at(random), owner: owner(random), id: id(random) }),
];

/** What happens in some histories only: so many of these meet often, and each is often absent. */
const OTHERS: Readonly<Record<string, { readonly share: number; readonly weight: number; readonly draw: Draw }>> = {
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
  rebuild: { share: 0.25, weight: 0.5, draw: () => ({ do: 'rebuild' }) },
  move: { share: 0.1, weight: 0.3, draw: () => ({ do: 'move' }) },
  freeze: { share: 0.5, weight: 1, draw: (random) => ({ do: 'freeze', at: random.whole(0, 9), for: long(random) }) },
  kill: { share: 0.4, weight: 0.7, draw: (random) => ({ do: 'kill', at: random.whole(0, 9), for: long(random) }) },
  wait: { share: 0.3, weight: 0.3, draw: (random) => ({ do: 'wait', for: random.scaled(1_000, 20_000) }) },
  befall: { share: 0.3, weight: 0.7, draw: (random) => befall(random, random.whole(0, 9)) },
  away: { share: 0.2, weight: 0.5, draw: (random) => ({ do: 'away', at: random.whole(0, 9), for: long(random) }) },
  jump: {
    share: 0.2,
    weight: 0.5,
    draw: (random) => ({ do: 'jump', at: at(random), by: random.one([-1, 1]) * random.scaled(1, 100_000) }),
  },
  'fail over': { share: 0.25, weight: 0.5, draw: (random) => ({ do: 'fail over', hold: random.scaled(0.1, 2_000) }) },
  cut: { share: 0.3, weight: 0.7, draw: (random) => ({ do: 'cut', at: at(random) }) },
  'slow line': {
    share: 0.2,
    weight: 0.5,
    draw: (random) => ({ do: 'line', is: 'slow', at: at(random), other: at(random), for: random.scaled(1, 500) }),
  },
  'silent line': {
    share: 0.2,
    weight: 0.5,
    draw: (random) => ({ do: 'line', is: 'silent', at: at(random), other: at(random), for: random.scaled(100, 5_000) }),
  },
};

/** Most often nothing goes wrong by itself, so that what does is seen alone. */
function weatherOf(random: Random): Weather {
  const fault = () => (random.chance(0.3) ? random.scaled(0.001, 0.05) : 0);
  return {
    refused: fault(),
    lost: fault(),
    late: fault(),
    slow: fault(),
    old: random.chance(0.3) ? random.scaled(0.01, 0.3) : 0,
    way: random.scaled(0.1, 20),
    replication: random.scaled(0.05, 20),
  };
}

/** The history of a seed. */
export function planOf(seed: number): Plan {
  const random = new Random(`${seed}/plan`);
  const chosen = Object.values(OTHERS).filter(({ share }) => random.chance(share));
  const weight = chosen.reduce((sum, other) => sum + other.weight, 0);
  const haste = random.scaled(1, 100);
  const draw = (): Action => {
    // Owners do half of all or more.
    let left = random.between(0, Math.max(weight + 4, 2 * weight));
    for (const other of chosen) {
      if (left < other.weight) return other.draw(random);
      left -= other.weight;
    }
    return random.one(OF_OWNERS)(random);
  };
  const gap = () => (random.chance(0.1) ? random.scaled(100, 8_000) : random.scaled(haste / 50, haste * 5));
  const steps: Step[] = [];
  for (let left = random.whole(15, 70); left > 0; left--) {
    const action = draw();
    steps.push({ ...action, gap: gap() });
    // What takes long is worth an accident.
    if ((action.do !== 'rebuild' && action.do !== 'erase') || random.chance(0.6)) continue;
    steps.push({ ...befall(random, action.do === 'erase' && !action.byCommand ? action.at : LAST), gap: 0.02 });
    if (random.chance(0.5)) steps.push({ do: 'wait', for: random.between(LEASES, 2 * LEASES), gap: gap() });
  }
  return {
    instances: random.one([1, 2, 2, 3, 3, 3]),
    publishes: random.chance(0.2),
    longNames: random.chance(0.1),
    weather: weatherOf(random),
    steps,
  };
}

/** A step in one line. */
export function stepText({ gap, ...action }: Step): string {
  const { do: what, ...members } = action;
  const shown = Object.entries(members).filter(([, value]) => value !== undefined);
  const text = (value: unknown) => (typeof value === 'number' ? String(Math.round(value * 100) / 100) : String(value));
  return `after ${text(gap)} ms ${what} ${shown.map(([name, value]) => `${name}=${text(value)}`).join(' ')}`.trimEnd();
}
