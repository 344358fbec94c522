import { PlantStoreError } from '../../domain/errors.ts';
import type { ShedReason } from '../../observe/request.ts';
import type { Place } from './place.ts';

/** How many requests may be unfinished on their way in, each of at most MAX_MESSAGE bytes. */
export interface ArrivalLimits {
  readonly all: number;
  readonly ofOwner: number;
  readonly ofConnection: number;
}

/** Why a request may not stay on its way: what its metric and its caller are told. */
export interface Denial {
  readonly reason: ShedReason;
  readonly error: PlantStoreError;
}

// One for all requests: an error of its own would cost each a stack trace.
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
 * The requests whose callers are known and which do not come to their end: they hold no place, some memory each, and are bounded in
 * number for each owner, for each connection and in all, and in time.
 */
export class Arrivals {
  readonly #limits: ArrivalLimits;
  /** In the order in which they came here. */
  readonly #places = new Set<Place>();
  readonly #connections = new Map<string, number>();

  constructor(limits: ArrivalLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#places.size;
  }

  /** Takes a request in. Returns why not, where it may not be. */
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

  /** Lets go of a request that was taken in: it is whole, or over. */
  delete(place: Place): void {
    this.#places.delete(place);
    if (place.owner !== undefined) place.owner.arriving--;
    const left = this.#connections.get(place.connection!)! - 1;
    if (left === 0) this.#connections.delete(place.connection!);
    else this.#connections.set(place.connection!, left);
  }

  /** Those that came here before that time. */
  *olderThan(time: number): Generator<Place> {
    for (const place of this.#places) {
      if (place.since >= time) return;
      yield place;
    }
  }
}
