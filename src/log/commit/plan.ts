import { type Command, decide } from '../../domain/decider.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import { IDEMPOTENCY_TTL, refuseReuse } from '../../domain/idempotency.ts';
import { headAt, seal } from '../event/chain.ts';
import { type Committed, type Head, type LoggedEvent, plantEventOf } from '../event/event.ts';

/** The decision on one command. */
export interface CommandDecision {
  /**
   * The command's event or its refusal. The event is one of the plan's, or an earlier command with the same idempotency
   * key produced it.
   */
  readonly outcome: (LoggedEvent & Committed) | PlantStoreError;
  /**
   * The decision stands once this many of the plan's events are in the log. A refusal needs the events before it, and at
   * least one: only a successful append proves that the plan's head was still the head of the log.
   */
  readonly needs: number;
}

/** A batch of commands decided in order on one head. */
export interface Plan {
  /** The events to append after the head. */
  readonly events: readonly LoggedEvent[];
  /** One for each command, in their order. */
  readonly decisions: readonly CommandDecision[];
}

/** A command and its lookup keys. */
export interface Keyed {
  readonly command: Command;
  /**
   * Id of the command's event. The instance that accepted the command makes it, and so finds the event again after any
   * fault.
   */
  readonly eventId: string;
  /** keyString of its plant. */
  readonly key: string;
  /** idempotencyString of its idempotency key, if it has one. */
  readonly idempotency: string | undefined;
}

/** The state at the head, as far as the commands' lookup keys ask for it. */
export interface Known {
  /** Whether a plant with this key exists. */
  isThere(key: string): boolean;
  /** The last event with an idempotency key, if there is one. */
  eventOf(idempotency: string): LoggedEvent | undefined;
}

/** Decides commands in order, each on the state that the commands before it leave. */
export function plan(head: Head, commands: readonly Keyed[], known: Known, clock: number): Plan {
  const touched = new Map<string, boolean>();
  const named = new Map<string, LoggedEvent>();
  const events: LoggedEvent[] = [];
  let last = head;
  const refused = (outcome: PlantStoreError): CommandDecision => ({ outcome, needs: Math.max(events.length, 1) });
  const repeated = (command: Command, idempotency: string): CommandDecision | undefined => {
    const earlier = named.get(idempotency) ?? known.eventOf(idempotency);
    if (earlier === undefined || Math.max(clock, last.time) - earlier.time >= IDEMPOTENCY_TTL) return undefined;
    const refusal = refuseReuse(command, plantEventOf(earlier)!);
    // An earlier event at or before the head is in the log, whatever becomes of the plan.
    return refusal
      ? refused(refusal)
      : { outcome: { ...earlier, replayed: true }, needs: earlier.position - head.position };
  };
  const decisions = commands.map(({ command, eventId, key, idempotency }): CommandDecision => {
    const decision = idempotency === undefined ? undefined : repeated(command, idempotency);
    if (decision !== undefined) return decision;
    const decided = decide(command, touched.get(key) ?? known.isThere(key));
    if (decided instanceof PlantStoreError) return refused(decided);
    const event = seal(last, decided, eventId, clock);
    touched.set(key, decided.type === 'PlantAdded');
    if (idempotency !== undefined) named.set(idempotency, event);
    events.push(event);
    last = headAt(event);
    return { outcome: event, needs: events.length };
  });
  return { events, decisions };
}
