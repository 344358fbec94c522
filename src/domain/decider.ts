import { PlantStoreError } from './errors.ts';
import { type Circumstances, leavesPlant, type OwnerErased, type PlantEvent } from './events.ts';
import { type NewPlant, type Plant, plantFields } from './plant.ts';

/** Adds a plant of the owner. */
export interface AddPlant extends Circumstances {
  readonly type: 'AddPlant';
  readonly owner: string;
  readonly plant: NewPlant;
}

/** Deletes a plant of the owner. */
export interface DeletePlant extends Circumstances {
  readonly type: 'DeletePlant';
  readonly owner: string;
  readonly id: bigint;
}

/** Erases the owner: deletes all plants, and has the contents of all earlier events of the owner removed. */
export interface EraseOwner extends Circumstances {
  readonly type: 'EraseOwner';
  readonly owner: string;
  readonly idempotencyKey?: undefined;
  /** The owner's events with content up to position `countedTo`. */
  readonly counted: number;
  readonly countedTo: number;
  /** The key of the event's subject, 16 random bytes. */
  readonly key: Uint8Array;
}

/** A command about one plant. */
export type PlantCommand = AddPlant | DeletePlant;

/** A command. Every accepted command becomes one event. */
export type Command = PlantCommand | EraseOwner;

/** State of one key: its plant, or undefined. Only the last event of the key decides it. */
export type PlantState = Plant | undefined;

/** The id of a command's plant. */
export const plantIdOf = (command: PlantCommand): bigint =>
  command.type === 'AddPlant' ? command.plant.id : command.id;

/** The event that a command becomes, or the error that refuses it, by whether the plant exists. Pure. */
export function decide(command: PlantCommand, isThere: boolean): PlantEvent | PlantStoreError {
  const { owner, actor, issuer, idempotencyKey, traceparent } = command;
  const circumstances = { owner, actor, issuer, idempotencyKey, traceparent };
  const plantId = plantIdOf(command);
  switch (command.type) {
    case 'AddPlant':
      return isThere
        ? new PlantStoreError(
            'PLANT_ALREADY_EXISTS',
            `a plant with id ${plantId} already exists; delete it first, or use another id`,
          )
        : { type: 'PlantAdded', ...circumstances, plantId, ...plantFields(command.plant) };
    case 'DeletePlant':
      return isThere
        ? { type: 'PlantDeleted', ...circumstances, plantId }
        : new PlantStoreError('PLANT_NOT_FOUND', `there is no plant with id ${plantId}`);
  }
}

/**
 * The event that erases an owner, or the error that refuses it. `since`: the number of the owner's events after the
 * position that the command counted up to; undefined: it is unknown, or the owner was erased since, perhaps by the same
 * request. Pure.
 */
export function decideErasure(
  { actor, issuer, traceparent, counted }: EraseOwner,
  since: number | undefined,
  subject: Uint8Array,
): OwnerErased | PlantStoreError {
  const erased = since === undefined ? 0 : since + counted;
  if (erased === 0)
    return new PlantStoreError('COUNT_OUTDATED', 'the log moved on faster than its events were counted; try again');
  return { type: 'OwnerErased', actor, issuer, traceparent, erased, subject };
}

/** The state of a key after its last event. Pure. */
export const stateAfter = (event: PlantEvent): PlantState => (leavesPlant(event) ? plantFields(event) : undefined);
