import { PlantStoreError } from './errors.ts';
import type { PlantEvent } from './events.ts';
import type { NewPlant, Plant } from './plant.ts';

/** Add a plant to the owner's. */
export interface AddPlant {
  readonly type: 'AddPlant';
  readonly owner: string;
  readonly actor: string;
  /** Who issued the token of the actor. */
  readonly issuer?: string | undefined;
  /** The caller's name for the request, if it has one; see idempotency.ts. */
  readonly idempotencyKey?: string | undefined;
  /** The span of the command, if it is part of a trace; see trace-context.ts. */
  readonly traceparent?: string | undefined;
  readonly plant: NewPlant;
}

/** Delete a plant of the owner's. */
export interface DeletePlant {
  readonly type: 'DeletePlant';
  readonly owner: string;
  readonly actor: string;
  /** Who issued the token of the actor. */
  readonly issuer?: string | undefined;
  /** The caller's name for the request, if it has one; see idempotency.ts. */
  readonly idempotencyKey?: string | undefined;
  /** The span of the command, if it is part of a trace; see trace-context.ts. */
  readonly traceparent?: string | undefined;
  readonly id: bigint;
}

/** What a caller can ask for. Every accepted command becomes one event. */
export type Command = AddPlant | DeletePlant;

/** State of one key: the plant there, or undefined. A key's last event alone decides it. */
export type PlantState = Plant | undefined;

/** The id of the plant that a command is about. */
export const plantIdOf = (command: Command): bigint => (command.type === 'AddPlant' ? command.plant.id : command.id);

/** The one event that a command becomes, or the error that refuses it: all that counts is whether the plant is there. Pure. */
export function decide(command: Command, isThere: boolean): PlantEvent | PlantStoreError {
  const { owner, actor, issuer, idempotencyKey, traceparent } = command;
  const circumstances = { owner, actor, issuer, idempotencyKey, traceparent };
  if (command.type === 'AddPlant') {
    const { id, name, tag } = command.plant;
    if (isThere)
      return new PlantStoreError(
        'PLANT_ALREADY_EXISTS',
        `a plant with id ${id} exists; delete it first or use another id`,
      );
    return { type: 'PlantAdded', ...circumstances, plantId: id, name, tag };
  }
  if (!isThere) return new PlantStoreError('PLANT_NOT_FOUND', `there is no plant with id ${command.id}`);
  return { type: 'PlantDeleted', ...circumstances, plantId: command.id };
}

/** The state of a key after one of its events. Pure. */
export const evolve = (_state: PlantState, event: PlantEvent): PlantState =>
  event.type === 'PlantAdded' ? { name: event.name, tag: event.tag } : undefined;
