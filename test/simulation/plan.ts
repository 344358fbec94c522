import type { Weather } from './machine/server.ts';

/** A process is frozen, killed, or cannot reach the database any more. */
export type Accident = 'freeze' | 'kill' | 'away';

/** What somebody damages by hand. */
export type Damage =
  | 'the checkpoint is gone'
  | 'the checkpoint is moved back'
  | 'a row is of nobody'
  | 'nodes are of no events';

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
  | {
      readonly do: 'burst';
      readonly at: number;
      readonly owner: string;
      readonly count: number;
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
  | { readonly do: 'damage'; readonly what: Damage }
  | { readonly do: 'move' }
  | { readonly do: 'freeze'; readonly at: number; readonly for: number }
  | { readonly do: 'kill'; readonly at: number; readonly for: number }
  /** At a call of the database, so many calls from now, a process meets with an accident. */
  | {
      readonly do: 'befall';
      readonly at: number;
      readonly calls: number;
      readonly for: number;
      readonly how: Accident;
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

/** A step in one line. */
export function stepText({ gap, ...action }: Step): string {
  const { do: what, ...members } = action;
  const shown = Object.entries(members).filter(([, value]) => value !== undefined);
  const text = (value: unknown) => (typeof value === 'number' ? String(Math.round(value * 100) / 100) : String(value));
  return `after ${text(gap)} ms ${what} ${shown.map(([name, value]) => `${name}=${text(value)}`).join(' ')}`.trimEnd();
}
