import { type Command, decide } from '../../domain/decider.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import { IDEMPOTENCY_TTL, refuseReuse } from '../../domain/idempotency.ts';
import { headAt, seal } from '../event/chain.ts';
import { type Committed, type Head, type LoggedEvent, plantEventOf } from '../event/event.ts';

/** What was decided of one command. */
export interface Verdict {
  /** The command's event, which is one of the plan's or what an earlier command of the same idempotency key gave; or its refusal. */
  readonly outcome: (LoggedEvent & Committed) | PlantStoreError;
  /**
   * The verdict stands once so many of the plan's events are in the log. A refusal stands on the events before it, and on one at
   * least, since only an append that succeeded shows that the plan's head was still the head of the log.
   */
  readonly needs: number;
}

/** A batch of commands decided in order on one head. */
export interface Plan {
  /** What is to follow the head. */
  readonly events: readonly LoggedEvent[];
  /** One for each command, in their order. */
  readonly verdicts: readonly Verdict[];
}

/** A command and what it is looked up by. */
export interface Keyed {
  readonly command: Command;
  /** Of the event that it becomes: made by the instance that took the command, so that it finds that event again after any fault. */
  readonly eventId: string;
  /** keyString of its plant. */
  readonly key: string;
  /** idempotencyString of its idempotency key, if it has one. */
  readonly idempotency: string | undefined;
}

/** What is known at the head of what the commands are looked up by. */
export interface Known {
  /** Whether there is a plant with this key. */
  isThere(key: string): boolean;
  /** The last event with an idempotency key, if there is one. */
  eventOf(idempotency: string): LoggedEvent | undefined;
}

/** Decides commands one after the other, each on what those before it leave. */
export function plan(head: Head, commands: readonly Keyed[], known: Known, clock: number): Plan {
  const touched = new Map<string, boolean>();
  const named = new Map<string, LoggedEvent>();
  const events: LoggedEvent[] = [];
  let last = head;
  const refused = (outcome: PlantStoreError): Verdict => ({ outcome, needs: Math.max(events.length, 1) });
  const repeated = (command: Command, idempotency: string): Verdict | undefined => {
    const earlier = named.get(idempotency) ?? known.eventOf(idempotency);
    if (earlier === undefined || Math.max(clock, last.time) - earlier.time >= IDEMPOTENCY_TTL) return undefined;
    const refusal = refuseReuse(command, plantEventOf(earlier)!);
    // What is not after the head is in the log, whatever becomes of the plan.
    return refusal
      ? refused(refusal)
      : { outcome: { ...earlier, replayed: true }, needs: earlier.position - head.position };
  };
  const verdicts = commands.map(({ command, eventId, key, idempotency }): Verdict => {
    const verdict = idempotency === undefined ? undefined : repeated(command, idempotency);
    if (verdict !== undefined) return verdict;
    const decision = decide(command, touched.get(key) ?? known.isThere(key));
    if (decision instanceof PlantStoreError) return refused(decision);
    const event = seal(last, decision, eventId, clock);
    touched.set(key, decision.type === 'PlantAdded');
    if (idempotency !== undefined) named.set(idempotency, event);
    events.push(event);
    last = headAt(event);
    return { outcome: event, needs: events.length };
  });
  return { events, verdicts };
}
