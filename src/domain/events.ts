import type { PlantKey } from './plant.ts';

/** What every event says, whatever happened. */
interface Circumstances {
  /** Subject of the token that gave the command. */
  readonly actor: string;
  /** Who issued that token: the actor's name means something there. */
  readonly issuer?: string | undefined;
  /** The caller's name for the request, if it had one; never empty. */
  readonly idempotencyKey?: string | undefined;
  /** The span under which it was appended, if that is part of a trace; see trace-context.ts. */
  readonly traceparent?: string | undefined;
}

/** The owner had no plant of this id, and has one now. */
export interface PlantAdded extends Circumstances {
  readonly type: 'PlantAdded';
  readonly owner: string;
  readonly plantId: bigint;
  readonly name: string;
  readonly tag: string | undefined;
}

/** The owner had a plant of this id, and has none now. */
export interface PlantDeleted extends Circumstances {
  readonly type: 'PlantDeleted';
  readonly owner: string;
  readonly plantId: bigint;
}

/** What the events of an owner say was removed, or is about to be. The event does not say whose. */
export interface OwnerErased extends Circumstances {
  readonly type: 'OwnerErased';
  /** Events before this one that lose their content by it. */
  readonly erased: number;
}

/** What can happen to a plant. */
export type PlantEvent = PlantAdded | PlantDeleted;

/** What can happen. */
export type DomainEvent = PlantEvent | OwnerErased;

/** The plant that an event is about. */
export const keyOf = (event: PlantEvent): PlantKey => ({ owner: event.owner, id: event.plantId });
