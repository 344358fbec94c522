import type { PlantStoreError } from '../../domain/errors.ts';
import type { Protocol } from '../../observe/request.ts';

/** A request that asks to be let in. Nothing must have been done for it before. */
export interface Entrant {
  readonly protocol: Protocol;
  /** Whether it may wait when there is no room. */
  readonly mayWait: boolean;
  /** Whether its client has left. */
  readonly isGone: boolean;
  /** Names its connection. */
  readonly peer: string;
  /** It is let in, for its token to be looked at. Its client is still there. */
  admit(place: Place): void;
  /** What it asked of its place is so: it goes on, and holds the place. Called at once, or later. */
  proceed(): void;
  /** It is to be answered with this error, and is over. Its client may have left. */
  refuse(error: PlantStoreError): void;
  /** Its request has been on its way for too long. */
  late(): void;
}

/** What an owner has of the instance. */
export interface OwnerShare {
  /** Places that the owner's requests hold. */
  held: number;
  /** The owner's requests that are on their way in. */
  arriving: number;
  /** Those that wait for one of the owner's places, the first to come first. */
  readonly waiting: Place[];
}

/**
 * How a request stands: it holds a place; its owner has none left for it; there is none at all for it; the rest of it is on its way
 * and it holds none; it is over.
 */
export type PlaceState = 'held' | 'owner' | 'returning' | 'arriving' | 'left';

/** Who gives places, and takes them back: Admission. Each method is what the place's of the same name asks for. */
export interface Steward {
  verifying(place: Place): boolean;
  belong(place: Place, owner: string): void;
  awaitRest(place: Place): void;
  whole(place: Place): void;
  leave(place: Place): void;
}

/**
 * A request's place among those that are served. It is held for an owner once the token is known, given back while the request does
 * not come to its end, and asked for again then. Disposed of once the request is over; again is fine.
 */
export class Place implements Disposable {
  readonly entrant: Entrant;
  readonly #steward: Steward;
  // What follows is the steward's.
  state: PlaceState = 'held';
  owner: OwnerShare | undefined;
  /** Its token is being verified, which may take its time. */
  isVerifying = false;
  /** The rest of the request is awaited. */
  isAwaited = false;
  /** Since when it waits, in milliseconds of `performance.now()`; 0 while it does not. */
  since = 0;
  /** Where it is counted, while it is on its way. */
  connection: string | undefined;

  constructor(steward: Steward, entrant: Entrant) {
    this.#steward = steward;
    this.entrant = entrant;
  }

  /** Its token is not known and has to be verified. Returns false when it is refused, as that is being done for too many. */
  verifying(): boolean {
    return this.#steward.verifying(this);
  }

  /** Its caller is known: it goes on in one of this owner's places. */
  belongTo(owner: string): void {
    this.#steward.belong(this, owner);
  }

  /** From here on the rest of the request is waited for, and the place is given back where that takes long. */
  awaitRest(): void {
    this.#steward.awaitRest(this);
  }

  /** The request is whole: it goes on in a place. */
  whole(): void {
    this.#steward.whole(this);
  }

  [Symbol.dispose](): void {
    this.#steward.leave(this);
  }
}
