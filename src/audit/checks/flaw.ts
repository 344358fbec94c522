import { isName } from '../../auth/claims.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import type { PlantAdded } from '../../domain/events.ts';
import { MAX_IDEMPOTENCY_KEY } from '../../domain/idempotency.ts';
import { checkTexts } from '../../domain/validation.ts';
import type { LoggedEvent } from '../../log/event/event.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Why no command can produce this event in any state; undefined if one can. Applies the same rules as the API. */
export function flawOf({ eventId, event }: LoggedEvent): string | undefined {
  if (!UUID.test(eventId)) return 'its event id is not a UUID';
  // An erased event has no content to check.
  if (event === undefined) return undefined;
  if (event.type !== 'OwnerErased' && !isName(event.owner)) return 'its owner is not a valid name';
  if (!isName(event.actor)) return 'its actor is not a valid name';
  if (event.idempotencyKey !== undefined && !isIdempotencyKey(event.idempotencyKey))
    return `its idempotency key does not have 1 to ${MAX_IDEMPOTENCY_KEY} characters`;
  return event.type === 'PlantAdded' ? textFlaw(event) : undefined;
}

const isIdempotencyKey = (key: string): boolean =>
  key !== '' && key.length <= MAX_IDEMPOTENCY_KEY && key.isWellFormed();

function textFlaw(event: PlantAdded): string | undefined {
  try {
    checkTexts(event);
    return undefined;
  } catch (error) {
    if (!(error instanceof PlantStoreError)) throw error;
    return `its ${error.message}`;
  }
}
