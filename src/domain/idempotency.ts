import { type Command, plantIdOf } from './decider.ts';
import { PlantStoreError } from './errors.ts';
import type { PlantEvent } from './events.ts';

/** A caller's name for one request (draft-ietf-httpapi-idempotency-key-header), and whose it is: owners share no names. */
export interface IdempotencyKey {
  readonly owner: string;
  /** Never empty. */
  readonly idempotencyKey: string;
}

/** Most characters that a key may have. */
export const MAX_IDEMPOTENCY_KEY = 255;

/** Milliseconds, counted from the event's time, for which a key stands for the request that it came with. Later it is as new. */
export const IDEMPOTENCY_TTL = 24 * 60 * 60 * 1000;

/** One string for each key of each owner, different for different ones whatever they hold; undefined where there is no key. */
export const idempotencyString = ({
  owner,
  idempotencyKey: key,
}: PlantEvent | Command | IdempotencyKey): string | undefined =>
  key === undefined ? undefined : `${key.length}:${key}${owner}`;

/**
 * Why a command cannot have the answer of an earlier one of the same owner and key, whose event is given; undefined when it can:
 * both ask for the same. Who of the owner's actors asks does not matter. Pure.
 */
export function refuseReuse(command: Command, earlier: PlantEvent): PlantStoreError | undefined {
  const isSame =
    plantIdOf(command) === earlier.plantId &&
    (command.type === 'AddPlant'
      ? earlier.type === 'PlantAdded' && command.plant.name === earlier.name && command.plant.tag === earlier.tag
      : earlier.type === 'PlantDeleted');
  if (isSame) return undefined;
  return new PlantStoreError(
    'IDEMPOTENCY_KEY_REUSED',
    'this idempotency key came with another request; use a new key for each request, and the same only to repeat one',
  );
}
