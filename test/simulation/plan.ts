import type { Weather } from './machine/server.ts';
import type { DamageName } from './store/damage.ts';

/** A process is frozen, killed, or cannot reach the database any more. */
export type Accident = 'freeze' | 'kill' | 'away';

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
  /** The last eraser asks once more, as after an outcome that it does not know. */
  | { readonly do: 'erase again'; readonly at: number; readonly byCommand: boolean }
  | { readonly do: 'rebuild' }
  | { readonly do: 'move' }
  | { readonly do: 'verify' }
  /** An auditor asks for the plants as of an earlier position; without an owner, for those of all. */
  | { readonly do: 'as of'; readonly owner: string | undefined; readonly back: number }
  /** An auditor reads the log from its beginning, and goes on with it. */
  | { readonly do: 'follow'; readonly at: number }
  /** Somebody changes the read model, or it is damaged. An operator hears of it and repairs it. */
  | { readonly do: 'damage'; readonly what: DamageName }
  | { readonly do: 'freeze'; readonly at: number; readonly for: number }
  | { readonly do: 'kill'; readonly at: number; readonly for: number }
  /** An instance is stopped in order, and started again after a time. */
  | { readonly do: 'stop'; readonly at: number; readonly for: number }
  /** At a call of the database, so many calls from now, a process meets with an accident. */
  | {
      readonly do: 'befall';
      readonly at: number;
      readonly calls: number;
      readonly for: number;
      readonly how: Accident;
    }
  | { readonly do: 'witness away'; readonly at: number; readonly for: number }
  | { readonly do: 'wait'; readonly for: number }
  | { readonly do: 'away'; readonly at: number; readonly for: number }
  | { readonly do: 'jump'; readonly at: number; readonly by: number }
  | { readonly do: 'fail over'; readonly hold: number }
  /** An instance reaches only a server that was deposed. */
  | { readonly do: 'depose'; readonly at: number; readonly for: number }
  /** Nothing can be appended, as on a full disk. */
  | { readonly do: 'fill'; readonly for: number }
  | { readonly do: 'backup' }
  /** The last backup takes the place of the database, while all instances are stopped. */
  | { readonly do: 'restore'; readonly for: number }
  /** Kafka takes no events for a time. */
  | { readonly do: 'topic away'; readonly for: number }
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
  /** Whether the store is in the process, as SQLite is: each call is done, and answered, in the step of its caller. */
  readonly isEmbedded: boolean;
  /** Whether a server that was deposed answers no read that must be fresh. */
  readonly strictReads: boolean;
  /** Pairs of events that the log has at the beginning. */
  readonly fillers: number;
  /** How many witnesses there are, and must cosign. Undefined: none. */
  readonly witnesses: { readonly count: number; readonly quorum: number } | undefined;
  /** Whether all instances keep on one disk what they sign. */
  readonly sharesDisk: boolean;
  readonly steps: readonly Step[];
}

/** A step in one line. */
export function stepText({ gap, ...action }: Step): string {
  const { do: what, ...members } = action;
  const shown = Object.entries(members).filter(([, value]) => value !== undefined);
  const text = (value: unknown) => (typeof value === 'number' ? String(Math.round(value * 100) / 100) : String(value));
  return `after ${text(gap)} ms ${what} ${shown.map(([name, value]) => `${name}=${text(value)}`).join(' ')}`.trimEnd();
}
