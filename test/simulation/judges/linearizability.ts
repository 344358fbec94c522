import { plantIdOf } from '../../../src/domain/decider.ts';
import { keyString } from '../../../src/domain/plant.ts';
import { type LoggedEvent, plantEventOf } from '../../../src/log/event/event.ts';
import { isLinearizable, type Model, type Operation } from '../../support/linearizability.ts';
import type { Sent } from './commands.ts';
import type { Truth } from './truth.ts';
import { Violation } from './violation.ts';

/** What a client heard of one plant. */
export interface PlantRead {
  readonly owner: string;
  readonly id: bigint;
  /** Undefined: it is not there. */
  readonly name: string | undefined;
  readonly called: number;
  readonly returned: number;
}

/** What was heard in a history. */
export interface Heard {
  readonly reads: readonly PlantRead[];
  readonly sent: Iterable<Sent>;
  /** Owners of whom an erasure was begun. */
  readonly erased: ReadonlySet<string>;
  /** When each eraser was asked, by its actor. */
  readonly erasers: ReadonlyMap<string, number>;
  /** When a backup was restored, and the position at which it ends. */
  readonly restores: readonly { readonly at: number; readonly end: number }[];
}

type Input =
  | { readonly do: 'read' }
  | { readonly do: 'restore'; readonly state: string }
  | { readonly do: 'add'; readonly name: string; readonly key: string | undefined }
  | { readonly do: 'delete'; readonly key: string | undefined };

/** The name of the plant, none if it is not there; or what its caller heard of a command. */
type Output = string | 'applied' | 'refused' | 'replayed';

const NOT_THERE = '';
/** The name of every plant whose name nobody read. */
const UNREAD = 'unread';

/** One plant and the keys of the commands about it. A state is its name, and the keys, one a line. */
const MODEL: Model<Input, Output> = {
  initial: NOT_THERE,
  step(state, input, output) {
    if (input.do === 'restore') return input.state;
    const [name, ...keys] = state.split('\n') as [string, ...string[]];
    if (input.do === 'read') return name === output ? state : undefined;
    const isReplayed = input.key !== undefined && keys.includes(input.key);
    const isAccepted = !isReplayed && (name === NOT_THERE) === (input.do === 'add');
    const outcome = isReplayed ? 'replayed' : isAccepted ? 'applied' : 'refused';
    if (output !== undefined && output !== outcome) return undefined;
    if (!isAccepted) return state;
    if (input.key !== undefined) keys.push(input.key);
    return [input.do === 'add' ? input.name : NOT_THERE, ...keys.sort()].join('\n');
  },
};

/** The state of a plant at the end of a log. */
function stateOf(events: readonly LoggedEvent[], key: string): string {
  let name = NOT_THERE;
  const keys: string[] = [];
  for (const logged of events) {
    const event = plantEventOf(logged);
    if (event === undefined || keyString(event.owner, event.plantId) !== key) continue;
    name = event.type === 'PlantAdded' ? event.name : NOT_THERE;
    if (event.idempotencyKey !== undefined) keys.push(event.idempotencyKey);
  }
  return [name, ...keys.sort()].join('\n');
}

/** What a command does, by the model. Undefined: its caller heard nothing of the plant. */
function operationOf(
  { command, outcome, called, returned, fresh, isDecided, isReplayed, isLost }: Sent,
  isErased: boolean,
) {
  // An erasure forgets keys, at one instance after the other.
  const key = isErased ? undefined : command.idempotencyKey;
  const input: Input =
    command.type === 'AddPlant' ? { do: 'add', name: command.plant.name, key } : { do: 'delete', key };
  const times = { input, called, returned: returned ?? Number.POSITIVE_INFINITY };
  if (outcome === 'unknown' || (isLost && outcome === 'not applied')) return { ...times, output: undefined };
  if (outcome === 'applied') return { ...times, output: 'applied' };
  if (isDecided) return { ...times, called: fresh.since, output: 'refused' };
  return isReplayed && key !== undefined ? { ...times, output: 'replayed' } : undefined;
}

/**
 * The same history, in which more operations are alike, so that fewer orders have to be tried: names that nobody read
 * are one name, and a key that only one command has is none. The model tells neither apart.
 */
function simplified(history: readonly Operation<Input, Output>[]): Operation<Input, Output>[] {
  const read = new Set(history.flatMap(({ input, output }) => (input.do === 'read' ? [output] : [])));
  const uses = new Map<string | undefined, number>();
  for (const { input } of history) if ('key' in input) uses.set(input.key, (uses.get(input.key) ?? 0) + 1);
  return history.map((operation) => {
    const { input, output } = operation;
    if (!('key' in input) || output === 'replayed') return operation;
    const key = uses.get(input.key) === 1 ? undefined : input.key;
    if (input.do === 'delete') return { ...operation, input: { ...input, key } };
    return { ...operation, input: { ...input, key, name: read.has(input.name) ? input.name : UNREAD } };
  });
}

/**
 * Judges what was heard of each plant: there is an order of the calls about it that explains every answer. Of the log it
 * looks only at how often an eraser has deleted the plant.
 */
export function judgeLinearizability({ reads, sent, erased, erasers, restores }: Heard, truth: Truth): void {
  const plants = new Map<string, { owner: string; history: Operation<Input, Output>[] }>();
  const put = (owner: string, id: bigint, operation: Operation<Input, Output> | undefined) => {
    if (operation === undefined) return;
    const key = keyString(owner, id);
    const known = plants.get(key);
    if (known === undefined) plants.set(key, { owner, history: [operation] });
    else known.history.push(operation);
  };
  for (const { owner, id, name = NOT_THERE, called, returned } of reads)
    put(owner, id, { input: { do: 'read' }, output: name, called, returned });
  for (const each of sent) {
    const { owner } = each.command;
    put(owner, plantIdOf(each.command), operationOf(each, erased.has(owner)));
  }
  for (const logged of truth.events) {
    const called = erasers.get(logged.event?.actor ?? '');
    const owner = truth.erasedOwners.get(logged.eventId);
    if (owner === undefined || called === undefined) continue;
    const input = { do: 'delete', key: undefined } as const;
    for (const id of truth.plantsAt(owner, logged.position - 1).keys())
      put(owner, id, { input, output: 'applied', called, returned: Number.POSITIVE_INFINITY });
  }
  for (const [index, { at, end }] of restores.entries())
    for (const [key, { history }] of plants) {
      const state = stateOf(truth.earlier[index]!.slice(0, end), key);
      history.push({ input: { do: 'restore', state }, output: 'applied', called: at, returned: at });
    }
  // What an eraser did before a restore is not known here.
  for (const [key, { owner, history }] of plants)
    if (restores.length > 0 && erased.has(owner)) continue;
    else if (!isLinearizable(MODEL, simplified(history)))
      throw new Violation('linearizability', `no order explains what was heard of ${key}`, owner);
}
