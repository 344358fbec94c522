import type { Plant, PlantKey } from './plant.ts';

/** Members that all events have. */
interface Circumstances {
  /** Subject of the token that gave the command. */
  readonly actor: string;
  /** Issuer of that token: actor names are unique for each issuer. */
  readonly issuer?: string | undefined;
  /** The caller's name for the request, if it had one; never empty. */
  readonly idempotencyKey?: string | undefined;
  /** The span of the append, if it is part of a trace; see trace-context.ts. */
  readonly traceparent?: string | undefined;
}

/** The owner had no plant of this id, and has one now. */
export interface PlantAdded extends Circumstances, Plant {
  readonly type: 'PlantAdded';
  readonly owner: string;
  readonly plantId: bigint;
}

/** The owner had a plant of this id, and has none now. */
export interface PlantDeleted extends Circumstances {
  readonly type: 'PlantDeleted';
  readonly owner: string;
  readonly plantId: bigint;
}

/** The contents of an owner's events were removed, or are about to be. The event does not name the owner. */
export interface OwnerErased extends Circumstances {
  readonly type: 'OwnerErased';
  /** Number of earlier events that lose their content. */
  readonly erased: number;
}

/** An event of one plant. */
export type PlantEvent = PlantAdded | PlantDeleted;

/** Any event. */
export type DomainEvent = PlantEvent | OwnerErased;

/** The key of an event's plant. */
export const keyOf = (event: PlantEvent): PlantKey => ({ owner: event.owner, id: event.plantId });
