import { inspect } from 'node:util';

/** One operation of a recorded history. All times are from one clock. */
export interface Operation<Input, Output> {
  readonly input: Input;
  /** Undefined: the outcome is unknown; it may have taken effect at any time after the call, or never. */
  readonly output: Output | undefined;
  readonly called: number;
  readonly returned: number;
}

/** The sequential semantics of the operations. States are compared as strings. */
export interface Model<Input, Output> {
  readonly initial: string;
  /** The state after the operation; undefined if the output is impossible in this state. */
  step(state: string, input: Input, output: Output | undefined): string | undefined;
}

/** How many configurations are visited before the search gives up: some 300 MiB of them, and ten seconds. */
const MOST = 1_000_000;

/** The search gave up: nothing is said about the history. */
export class Undecided extends Error {}

interface Entry {
  readonly operation: number;
  readonly isCall: boolean;
  next: Entry | undefined;
  previous: Entry | undefined;
  match: Entry | undefined;
}

/**
 * Whether a history is linearizable: whether its operations have an order that the model allows, and that respects the
 * order of non-overlapping operations. The search of Wing and Gong, with Lowe's cache of visited configurations
 * (Testing for Linearizability, 2017).
 * @throws Undecided when that takes too long
 */
export function isLinearizable<Input, Output>(
  model: Model<Input, Output>,
  history: readonly Operation<Input, Output>[],
): boolean {
  const start = entriesOf(history);
  const twins = twinsOf(history);
  const tried = new Set<string>();
  const done = new Uint8Array(history.length);
  const path: { entry: Entry; state: string }[] = [];
  let certain = history.filter(({ output }) => output !== undefined).length;
  let state = model.initial;
  let entry = start.next;
  while (certain > 0) {
    if (entry?.isCall === true) {
      const { input, output } = history[entry.operation]!;
      const twin = twins[entry.operation];
      const mayBeNext = twin === undefined || done[twin] === 1;
      const after = mayBeNext ? model.step(state, input, output) : undefined;
      // What is unknown and changes nothing may as well never have happened.
      if (after !== undefined && !(output === undefined && after === state)) {
        done[entry.operation] = 1;
        const seen = `${Buffer.from(done).toString('latin1')}${after}`;
        if (!tried.has(seen)) {
          tried.add(seen);
          if (tried.size > MOST)
            throw new Undecided(`more than ${MOST} configurations of ${history.length} operations`);
          path.push({ entry, state });
          if (output !== undefined) certain--;
          state = after;
          lift(entry);
          entry = start.next;
          continue;
        }
        done[entry.operation] = 0;
      }
      entry = entry.next;
      continue;
    }
    // An operation returned without a possible place before its return: backtrack.
    const last = path.pop();
    if (last === undefined) return false;
    state = last.state;
    done[last.entry.operation] = 0;
    if (history[last.entry.operation]!.output !== undefined) certain++;
    unlift(last.entry);
    entry = last.entry.next;
  }
  return true;
}

/**
 * For each operation the last one before it that has the same input and output, and that was called and returned no
 * later. Wherever both have a place, they can change places: so an operation is only tried after its twin.
 */
function twinsOf(history: readonly Operation<unknown, unknown>[]): (number | undefined)[] {
  const alike = new Map<string, number[]>();
  return history.map((operation, index) => {
    const kind = inspect([operation.input, operation.output]);
    const earlier = alike.get(kind) ?? [];
    alike.set(kind, [...earlier, index]);
    return earlier.findLast((other) => isNoLater(history[other]!, operation));
  });
}

const isNoLater = (one: Operation<unknown, unknown>, other: Operation<unknown, unknown>): boolean =>
  one.called <= other.called && endOf(one) <= endOf(other);

const endOf = ({ output, returned }: Operation<unknown, unknown>): number =>
  output === undefined ? Number.POSITIVE_INFINITY : returned;

/** Calls and returns in order of time, as a linked list with a sentinel at its head. */
function entriesOf(history: readonly Operation<unknown, unknown>[]): Entry {
  const timed: { time: number; entry: Entry }[] = [];
  history.forEach(({ called, returned, output }, operation) => {
    const call: Entry = { operation, isCall: true, next: undefined, previous: undefined, match: undefined };
    timed.push({ time: called, entry: call });
    if (output === undefined) return;
    const end: Entry = { operation, isCall: false, next: undefined, previous: undefined, match: undefined };
    call.match = end;
    timed.push({ time: returned, entry: end });
  });
  // At equal times calls come first, because such operations overlap.
  timed.sort((a, b) => a.time - b.time || Number(b.entry.isCall) - Number(a.entry.isCall));
  const start: Entry = { operation: -1, isCall: true, next: undefined, previous: undefined, match: undefined };
  let last = start;
  for (const { entry } of timed) {
    last.next = entry;
    entry.previous = last;
    last = entry;
  }
  return start;
}

function lift(entry: Entry): void {
  for (const part of [entry, entry.match]) {
    if (part === undefined) continue;
    part.previous!.next = part.next;
    if (part.next !== undefined) part.next.previous = part.previous;
  }
}

function unlift(entry: Entry): void {
  for (const part of [entry.match, entry]) {
    if (part === undefined) continue;
    part.previous!.next = part;
    if (part.next !== undefined) part.next.previous = part;
  }
}
