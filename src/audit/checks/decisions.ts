import { isName } from '../../auth/principal.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import { leavesPlant } from '../../domain/events.ts';
import { MAX_IDEMPOTENCY_KEY } from '../../domain/idempotency.ts';
import type { Plant } from '../../domain/plant.ts';
import { checkTexts } from '../../domain/validation.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import type { Store } from '../../log/store.ts';
import type { Fold } from '../fold/fold.ts';
import type { Check, Failure } from './check.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Was each event allowed on the state before it? No command adds a plant that exists, deletes one that does not, reuses
 * an idempotency key within the 24 hours after which 1.0.0 let it be used again, or has a value that the API refuses.
 *
 * Shares the fold, which must have `asksDecisions`, with readModelCheck, which folds the events up to the read model's
 * checkpoint. This check folds the rest, up to `end`, so that must finish first.
 */
export function decisionsCheck(store: Store, end: number, fold: Fold): Check {
  let flaw: Failure | undefined;
  return {
    question: 'decisions',
    take(events) {
      for (const event of events) flaw ??= flawOf(event);
      return undefined;
    },
    async finish(signal) {
      for await (const events of store.read(fold.position, { to: end, signal })) await fold.apply(events);
      const { misfit } = fold;
      return flaw === undefined || (misfit !== undefined && misfit.position! < flaw.position!) ? misfit : flaw;
    },
  };
}

/** Why no command can produce this event in any state; undefined if one can. Applies the same rules as the API. */
export function flawOf(event: LoggedEvent): Failure | undefined {
  const message = flawIn(event);
  return message === undefined ? undefined : { position: event.position, message };
}

function flawIn({ eventId, event }: LoggedEvent): string | undefined {
  if (!UUID.test(eventId)) return 'its event id is not a UUID';
  // An erased event has no content to check.
  if (event === undefined) return undefined;
  if (event.type !== 'OwnerErased' && !isName(event.owner)) return 'its owner is not a valid name';
  if (!isName(event.actor)) return 'its actor is not a valid name';
  if (event.idempotencyKey !== undefined && !isIdempotencyKey(event.idempotencyKey))
    return `its idempotency key does not have 1 to ${MAX_IDEMPOTENCY_KEY} characters`;
  return event.type !== 'OwnerErased' && leavesPlant(event) ? textFlaw(event) : undefined;
}

const isIdempotencyKey = (key: string): boolean =>
  key !== '' && key.length <= MAX_IDEMPOTENCY_KEY && key.isWellFormed();

function textFlaw(plant: Plant): string | undefined {
  try {
    checkTexts(plant);
    return undefined;
  } catch (error) {
    if (!(error instanceof PlantStoreError)) throw error;
    return `its ${error.message}`;
  }
}
