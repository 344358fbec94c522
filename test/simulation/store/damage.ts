import { plantEventOf } from '../../../src/log/event/event.ts';
import type { Random } from '../machine/random.ts';
import type { State } from './state.ts';

/** One way to damage a read model. Undefined: this state has nothing of the kind. */
type Damage = (state: State, random: Random) => Partial<State> | undefined;

/** Every way, by name. `audit rebuild` mends each. */
export const DAMAGES = {
  'a row is lost': ({ rows }, random) => {
    if (rows.size === 0) return undefined;
    const left = new Map(rows);
    left.delete(random.one([...rows.keys()]));
    return { rows: left };
  },
  'a row is changed': ({ rows }, random) => {
    if (rows.size === 0) return undefined;
    const [key, row] = random.one([...rows]);
    return { rows: new Map(rows).set(key, { ...row, name: `${row.name}!` }) };
  },
  'a row is written': ({ rows }) => ({
    rows: new Map(rows).set('7:mallory', { owner: 'mallory', id: 7n, name: 'weed', tag: undefined }),
  }),
  'the checkpoint is set back': ({ events, checkpoint }) => {
    const last = events.at(-1);
    if (checkpoint === undefined || last?.position !== checkpoint || plantEventOf(last) === undefined) return undefined;
    return { checkpoint: checkpoint - 1 };
  },
  'the checkpoint is lost': () => ({ checkpoint: undefined, upTo: 0 }),
} as const satisfies Readonly<Record<string, Damage>>;

/** The name of a way to damage a read model. */
export type DamageName = keyof typeof DAMAGES;
