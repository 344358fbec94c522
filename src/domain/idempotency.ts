import { type Command, type PlantCommand, plantIdOf } from './decider.ts';
import { PlantStoreError } from './errors.ts';
import type { PlantEvent } from './events.ts';
import { isSamePlant } from './plant.ts';

/** A caller's name for one request of an owner (draft-ietf-httpapi-idempotency-key-header). */
export interface IdempotencyKey {
  readonly owner: string;
  /** Never empty. */
  readonly idempotencyKey: string;
}

/** Most characters that a key may have. */
export const MAX_IDEMPOTENCY_KEY = 255;

/** A string that is unique for each pair of key and owner, whatever they contain. Undefined when there is no key. */
export const idempotencyString = ({
  owner,
  idempotencyKey: key,
}: PlantEvent | Command | IdempotencyKey): string | undefined =>
  key === undefined ? undefined : `${key.length}:${key}${owner}`;

/**
 * The error for a command that reuses the key of an earlier, different request. `earlier` is the event of that request,
 * of the same owner and key. Undefined when both ask for the same; the actors may differ. Then log/commit/plan.ts
 * answers with that event. Pure.
 */
export function refuseReuse(command: PlantCommand, earlier: PlantEvent): PlantStoreError | undefined {
  const isSame =
    plantIdOf(command) === earlier.plantId &&
    (command.type === 'AddPlant'
      ? earlier.type === 'PlantAdded' && isSamePlant(command.plant, earlier)
      : earlier.type === 'PlantDeleted');
  if (isSame) return undefined;
  return new PlantStoreError(
    'IDEMPOTENCY_KEY_REUSED',
    'another request used this idempotency key; use a new key for each request, and repeat a key only to retry its request',
  );
}
