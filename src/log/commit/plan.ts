import {
  type Command,
  decide,
  decideErasure,
  type EraseOwner,
  type PlantCommand,
  plantIdOf,
} from '../../domain/decider.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import { leavesPlant } from '../../domain/events.ts';
import { refuseReuse } from '../../domain/idempotency.ts';
import { headAt, seal, subjectOf } from '../event/chain.ts';
import { begunErasure, type Committed, type Head, type LoggedEvent, plantEventOf } from '../event/event.ts';

/** The decision on one command. */
export interface CommandDecision {
  /** The command's event, which an earlier one with the same idempotency key may have produced, or its refusal. */
  readonly outcome: (LoggedEvent & Committed) | PlantStoreError;
  /**
   * The decision stands once this many of the plan's events are in the log. A refusal, and an answer by an earlier
   * event, need the events before them, and at least one: only a successful append proves that the plan's head was
   * still the head of the log, so that nobody has added the plant or erased the owner since.
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

/** A command that waits for its decision. */
export interface Submitted {
  readonly command: Command;
  /** Id of the command's event, by which the instance that accepted the command finds it after any fault. */
  readonly eventId: string;
}

/** The state at the head, as far as the commands ask for it. */
export interface Known {
  isThere(command: PlantCommand): boolean;
  /** The owner's last event with the command's idempotency key, which it has. */
  eventOf(command: PlantCommand): LoggedEvent | undefined;
  /** Number of an owner's events after a position. Undefined: not all are in memory, or the owner was erased since. */
  countSince(owner: string, position: number): number | undefined;
}

/** The state of an owner after the commands of a batch so far, as far as they have changed it. */
class BatchState {
  /** Whether the owner was erased in the batch: nothing from before it counts. */
  isErased = false;
  events = 0;
  /** Whether plants exist, by id. */
  readonly plants = new Map<bigint, boolean>();
  readonly named = new Map<string, LoggedEvent>();

  erase(): void {
    this.isErased = true;
    this.plants.clear();
    this.named.clear();
  }
}

/** Decides commands in order, each on the state that the commands before it leave. */
export function plan(head: Head, commands: readonly Submitted[], known: Known, clock: number): Plan {
  const owners = new Map<string, BatchState>();
  const events: LoggedEvent[] = [];
  let last = head;
  const unchanged = (outcome: CommandDecision['outcome']): CommandDecision => ({
    outcome,
    needs: Math.max(events.length, 1),
  });
  const stateOf = (owner: string): BatchState => {
    const state = owners.get(owner) ?? new BatchState();
    owners.set(owner, state);
    return state;
  };
  const append = (event: LoggedEvent): CommandDecision => {
    events.push(event);
    last = headAt(event);
    return { outcome: event, needs: events.length };
  };
  const repeated = (command: PlantCommand, state: BatchState): CommandDecision | undefined => {
    const { idempotencyKey } = command;
    if (idempotencyKey === undefined) return undefined;
    const earlier = state.named.get(idempotencyKey) ?? (state.isErased ? undefined : known.eventOf(command));
    // For as long as the log has the event, so that no clock decides whether a retry is done again.
    if (earlier === undefined) return undefined;
    return unchanged(refuseReuse(command, plantEventOf(earlier)!) ?? { ...earlier, replayed: true });
  };
  const erasure = (command: EraseOwner, eventId: string): CommandDecision => {
    const { owner, key, countedTo } = command;
    const state = stateOf(owner);
    const before = state.isErased ? undefined : known.countSince(owner, countedTo);
    const decided = decideErasure(
      command,
      before === undefined ? before : before + state.events,
      subjectOf({ owner, key }),
    );
    if (decided instanceof PlantStoreError) return unchanged(decided);
    state.erase();
    return append({ ...seal(last, decided, eventId, clock), erases: begunErasure(owner, key) });
  };
  const decisions = commands.map(({ command, eventId }): CommandDecision => {
    if (command.type === 'EraseOwner') return erasure(command, eventId);
    const state = stateOf(command.owner);
    const decision = repeated(command, state);
    if (decision !== undefined) return decision;
    const id = plantIdOf(command);
    const decided = decide(command, state.plants.get(id) ?? (!state.isErased && known.isThere(command)));
    if (decided instanceof PlantStoreError) return unchanged(decided);
    const event = seal(last, decided, eventId, clock);
    state.events++;
    state.plants.set(id, leavesPlant(decided));
    if (command.idempotencyKey !== undefined) state.named.set(command.idempotencyKey, event);
    return append(event);
  });
  return { events, decisions };
}
