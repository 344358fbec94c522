import { isName } from '../../auth/claims.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import type { PlantAdded } from '../../domain/events.ts';
import { MAX_IDEMPOTENCY_KEY } from '../../domain/idempotency.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import { checkText } from '../../plants/validation.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Why no command becomes this event, whatever went before it; undefined where one may. It asks what the doors ask of a command. */
export function flawOf({ eventId, event }: LoggedEvent): string | undefined {
  if (!UUID.test(eventId)) return 'its event id is no UUID';
  // Of what is erased nothing can be told.
  if (event === undefined) return undefined;
  if (event.type !== 'OwnerErased' && !isName(event.owner)) return 'its owner is no name that a token may give';
  if (!isName(event.actor)) return 'its actor is no name that a token may give';
  if (event.idempotencyKey !== undefined && !isIdempotencyKey(event.idempotencyKey))
    return `its idempotency key is not of 1 to ${MAX_IDEMPOTENCY_KEY} characters`;
  return event.type === 'PlantAdded' ? textFlaw(event) : undefined;
}

const isIdempotencyKey = (key: string): boolean =>
  key !== '' && key.length <= MAX_IDEMPOTENCY_KEY && key.isWellFormed();

function textFlaw({ name, tag }: PlantAdded): string | undefined {
  try {
    checkText('name', name);
    if (tag !== undefined) checkText('tag', tag);
    return undefined;
  } catch (error) {
    if (!(error instanceof PlantStoreError)) throw error;
    return `its ${error.message}`;
  }
}
