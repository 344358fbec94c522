/** One operation of a recorded history. Times are of one clock. */
export interface Operation<Input, Output> {
  readonly input: Input;
  /** Undefined: the outcome is unknown; it may have taken effect at any time after the call, or never. */
  readonly output: Output | undefined;
  readonly called: number;
  readonly returned: number;
}

/** What the operations mean when they are done one at a time. States are compared by their string. */
export interface Model<Input, Output> {
  readonly initial: string;
  /** The state after the operation, or undefined when it cannot have this output in this state. */
  step(state: string, input: Input, output: Output | undefined): string | undefined;
}

interface Entry {
  readonly operation: number;
  readonly isCall: boolean;
  next: Entry | undefined;
  previous: Entry | undefined;
  match: Entry | undefined;
}

/**
 * Whether a history is linearizable: whether its operations can be put in one order that the model allows and in which none
 * comes before one that had returned when it was called. The search of Wing and Gong with Lowe's memory of what has been tried
 * (Testing for Linearizability, 2017).
 */
export function isLinearizable<Input, Output>(
  model: Model<Input, Output>,
  history: readonly Operation<Input, Output>[],
): boolean {
  const start = entriesOf(history);
  const tried = new Set<string>();
  const done = new Uint8Array(history.length);
  const path: { entry: Entry; state: string }[] = [];
  let certain = history.filter(({ output }) => output !== undefined).length;
  let state = model.initial;
  let entry = start.next;
  while (certain > 0) {
    if (entry?.isCall === true) {
      const { input, output } = history[entry.operation]!;
      const after = model.step(state, input, output);
      if (after !== undefined) {
        done[entry.operation] = 1;
        const seen = `${Buffer.from(done).toString('latin1')}${after}`;
        if (!tried.has(seen)) {
          tried.add(seen);
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
    // An operation has returned that could not be put before its return: take the last choice back.
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

/** Calls and returns in the order of time, as a linked list behind a first entry that stands for nothing. */
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
  // At the same instant calls come first: such operations overlap.
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
