import type { PlantKey } from './plant.ts';

/** The owner had no plant of this id, and has one now. */
export interface PlantAdded {
  readonly type: 'PlantAdded';
  readonly owner: string;
  /** Subject of the token that gave the command. */
  readonly actor: string;
  readonly plantId: bigint;
  readonly name: string;
  readonly tag: string | undefined;
  /** The caller's name for the request, if it had one; never empty. */
  readonly idempotencyKey?: string | undefined;
  /** The span under which it was appended, if that is part of a trace; see trace-context.ts. */
  readonly traceparent?: string | undefined;
}

/** The owner had a plant of this id, and has none now. */
export interface PlantDeleted {
  readonly type: 'PlantDeleted';
  readonly owner: string;
  /** Subject of the token that gave the command. */
  readonly actor: string;
  readonly plantId: bigint;
  /** The caller's name for the request, if it had one; never empty. */
  readonly idempotencyKey?: string | undefined;
  /** The span under which it was appended, if that is part of a trace; see trace-context.ts. */
  readonly traceparent?: string | undefined;
}

/** What can happen to a plant. */
export type PlantEvent = PlantAdded | PlantDeleted;

/** The plant that an event is about. */
export const keyOf = (event: PlantEvent): PlantKey => ({ owner: event.owner, id: event.plantId });
