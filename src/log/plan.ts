import { randomUUID } from 'node:crypto';
import { type Command, decide, evolve, type PlantState } from '../domain/decider.ts';
import { PlantStoreError } from '../domain/errors.ts';
import { headAt, seal } from './chain.ts';
import type { Head, LoggedEvent } from './event.ts';

/** What was decided of one command: its event's index in the plan, or the error and the number of events before it. */
export type Verdict =
  | { readonly accepted: true; readonly index: number }
  | { readonly accepted: false; readonly error: PlantStoreError; readonly index: number };

/** A batch of commands decided in order on one head. */
export interface Plan {
  /** The head that the decisions stand on and that the events follow. */
  readonly head: Head;
  readonly events: readonly LoggedEvent[];
  /** One for each command, in their order. */
  readonly verdicts: readonly Verdict[];
}

/** A command and the key of its plant. */
export interface Keyed {
  readonly command: Command;
  readonly key: string;
}

/** Decides commands one after the other, each on the state that those before it leave. */
export function plan(
  head: Head,
  commands: readonly Keyed[],
  stateOf: (key: string) => PlantState,
  clock: number,
): Plan {
  const touched = new Map<string, PlantState>();
  const events: LoggedEvent[] = [];
  let last = head;
  const verdicts = commands.map(({ command, key }): Verdict => {
    const state = touched.has(key) ? touched.get(key) : stateOf(key);
    const decision = decide(command, state);
    const index = events.length;
    if (decision instanceof PlantStoreError) return { accepted: false, error: decision, index };
    const event = seal(last, decision, randomUUID(), clock);
    touched.set(key, evolve(state, decision));
    events.push(event);
    last = headAt(event);
    return { accepted: true, index };
  });
  return { head, events, verdicts };
}

/**
 * Whether a verdict stands when the first `landed` events of its plan are in the log and something else may hold the next
 * position. A refusal stands on the events before it: they must have landed, and at least one event must have, since only an
 * append that succeeded shows that the plan's head was still the head of the log.
 */
export const stands = (verdict: Verdict, landed: number): boolean =>
  verdict.accepted ? verdict.index < landed : landed > 0 && verdict.index <= landed;
