import { PlantStoreError } from '../../domain/errors.ts';
import type { ShedReason } from '../../observe/request.ts';
import type { Place } from './place.ts';

/** Most incomplete requests. Each has at most MAX_MESSAGE bytes. */
export interface ArrivalLimits {
  readonly all: number;
  readonly ofOwner: number;
  readonly ofConnection: number;
}

/** Why a request may not stay incomplete, for its metric and its caller. */
export interface Denial {
  readonly reason: ShedReason;
  readonly error: PlantStoreError;
}

// One shared error: a new one for each request would cost a stack trace.
const SLOW = { retryAfter: 1 };
const OF_ALL: Denial = {
  reason: 'arrival',
  error: new PlantStoreError('OVERLOADED', 'too many requests are on their way; send this one whole, at once', SLOW),
};
const OF_OWNER: Denial = {
  reason: 'owner',
  error: new PlantStoreError(
    'TOO_MANY_REQUESTS',
    'too many requests of this owner are on their way; end those first',
    SLOW,
  ),
};
const OF_CONNECTION: Denial = {
  reason: 'owner',
  error: new PlantStoreError(
    'TOO_MANY_REQUESTS',
    'too many requests of this connection are on their way; end those first',
    SLOW,
  ),
};

/**
 * Authenticated requests that are not complete. They hold no place but some memory each. Their number is bounded for
 * each owner, for each connection and in all, and so is their time.
 */
export class Arrivals {
  readonly #limits: ArrivalLimits;
  /** In order of arrival here. */
  readonly #places = new Set<Place>();
  readonly #connections = new Map<string, number>();

  constructor(limits: ArrivalLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#places.size;
  }

  /** Adds a request. Returns the reason if it may not be added. */
  add(place: Place): Denial | undefined {
    const { owner, entrant } = place;
    const ofConnection = this.#connections.get(entrant.peer) ?? 0;
    if (owner !== undefined && owner.arriving >= this.#limits.ofOwner) return OF_OWNER;
    if (ofConnection >= this.#limits.ofConnection) return OF_CONNECTION;
    if (this.#places.size >= this.#limits.all) return OF_ALL;
    if (owner !== undefined) owner.arriving++;
    place.connection = entrant.peer;
    this.#connections.set(place.connection, ofConnection + 1);
    this.#places.add(place);
    return undefined;
  }

  /** Removes a request that is complete or over. */
  delete(place: Place): void {
    this.#places.delete(place);
    if (place.owner !== undefined) place.owner.arriving--;
    const left = this.#connections.get(place.connection!)! - 1;
    if (left === 0) this.#connections.delete(place.connection!);
    else this.#connections.set(place.connection!, left);
  }

  /** The requests that were added before a time. */
  *olderThan(time: number): Generator<Place> {
    for (const place of this.#places) {
      if (place.since >= time) return;
      yield place;
    }
  }
}
