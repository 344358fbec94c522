import type { PlantStoreError } from '../../domain/errors.ts';
import type { Protocol } from '../../observe/request.ts';

/** A request that asks for admission. Nothing may be done for it before. */
export interface Entrant {
  readonly protocol: Protocol;
  /** Whether it may wait when there is no room. */
  readonly mayWait: boolean;
  /** Whether its client has left. */
  readonly isGone: boolean;
  /** Identifies its connection. */
  readonly peer: string;
  /** Admits the request, so that its token can be checked. Its client is still there. */
  admit(place: Place): void;
  /** Grants what the request asked of its place: it continues and holds the place. Called at once or later. */
  proceed(): void;
  /** Ends the request with this error. Its client may have left. */
  refuse(error: PlantStoreError): void;
  /** The request has not arrived completely in time. */
  late(): void;
}

/** An owner's share of the instance. */
export interface OwnerShare {
  /** Places that the owner's requests hold. */
  held: number;
  /** The owner's incomplete requests. */
  arriving: number;
  /** Requests that wait for one of the owner's places, in order of arrival. */
  readonly waiting: Place[];
}

/**
 * The state of a request's place.
 * - held: the request holds a place.
 * - owner: it waits, because its owner has no place left.
 * - returning: it waits, because no place is free at all.
 * - arriving: the rest of the request is awaited, and it holds no place.
 * - left: the request is over.
 */
export type PlaceState = 'held' | 'owner' | 'returning' | 'arriving' | 'left';

/** Gives places and takes them back: Admission. Each method does the work of the corresponding method of Place. */
export interface Steward {
  verifying(place: Place): boolean;
  belong(place: Place, owner: string): void;
  awaitRest(place: Place): void;
  whole(place: Place): void;
  leave(place: Place): void;
}

/**
 * A request's place among the served requests. It counts for an owner once the token is known. It is given back while
 * the request is incomplete, and requested again once the request is complete. Dispose of it once the request is over;
 * repeated disposal has no effect.
 */
export class Place implements Disposable {
  readonly entrant: Entrant;
  readonly #steward: Steward;
  // The steward's fields.
  state: PlaceState = 'held';
  owner: OwnerShare | undefined;
  /** Its token is being verified, which may take long. */
  isVerifying = false;
  /** The rest of the request is awaited. */
  isAwaited = false;
  /** When it began to wait, by performance.now(), in milliseconds. 0: it does not wait. */
  since = 0;
  /** The connection that it is counted for while it arrives. */
  connection: string | undefined;

  constructor(steward: Steward, entrant: Entrant) {
    this.#steward = steward;
    this.entrant = entrant;
  }

  /**
   * Its token is unknown and must be verified. Returns false when too many tokens are being verified; the request is
   * then refused.
   */
  verifying(): boolean {
    return this.#steward.verifying(this);
  }

  /** Its caller is known. It continues in one of this owner's places. */
  belongTo(owner: string): void {
    this.#steward.belong(this, owner);
  }

  /** The rest of the request is awaited from here on. The place is given back if that takes long. */
  awaitRest(): void {
    this.#steward.awaitRest(this);
  }

  /** The request is complete. It continues in a place. */
  whole(): void {
    this.#steward.whole(this);
  }

  [Symbol.dispose](): void {
    this.#steward.leave(this);
  }
}
