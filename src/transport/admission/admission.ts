import { PlantStoreError } from '../../domain/errors.ts';
import type { Protocol, ShedReason } from '../../observe/request.ts';
import { Arrivals } from './arrivals.ts';
import { Pace } from './pace.ts';
import { type Entrant, type OwnerShare, Place, type Steward } from './place.ts';

/** When requests wait or are refused for the sake of those that are served. */
export interface AdmissionLimits {
  /** Most requests that are served at once. */
  readonly maxInFlight: number;
  /** Milliseconds that a request may wait to be let in. */
  readonly maxWait: number;
  /** Seconds in which a request must have arrived whole. */
  readonly requestTimeout: number;
}

/** What is refused is told. One for all requests: to make an error for each would make a refusal dear. */
export const OVERLOADED = new PlantStoreError('OVERLOADED', 'too many requests are being served; try again', {
  retryAfter: 1,
});

/** What an owner's request is told that waited in vain for those of the same owner before it. */
const OWNER_BUSY = new PlantStoreError(
  'TOO_MANY_REQUESTS',
  'too many requests of this owner are being served; wait for their answers',
  { retryAfter: 1 },
);

/** Milliseconds between two looks at the event loop and at what waits. */
const TICK = 10;
/** Most requests that wait. A client that sends on without an answer to its last request must not fill the memory. */
const MAX_WAITING = 10_000;
/** Milliseconds between two looks for owners of whom nothing is left. */
const FORGET = 1_000;

/**
 * Of all places, one in so many is what an owner may hold, and what requests may whose tokens have to be verified. Beside the places,
 * so many requests may be on their way: in all, of an owner, on a connection; more keep their places while no more than a part of all
 * is held. With the default of 1,024 places a connection may
 * have as many on their way as gRPC lets it open: calls with large messages share its flow-control window, and none is slow by itself.
 */
const PARTS = { owner: 4, verifying: 2, arriving: 2, arrivingOfOwner: 8, arrivingOfConnection: 8, kept: 2 } as const;

interface Waiting {
  readonly entrant: Entrant;
  readonly since: number;
}

/**
 * Sheds load before it costs anything: lets in requests of all protocols while there is room and the event loop keeps up. All
 * others wait, the first to come the first to be let in, and those that have waited too long are refused.
 *
 * A refusal costs a good part of what a small request does, and who is refused at once comes again at once: an instance could be
 * busy with nothing else. To wait costs nothing, and a client that waits for its answer sends nothing. So bursts are worked off, and
 * under lasting overload such a client is refused no more often than once in that time. Who sends on without an answer is refused
 * at once.
 *
 * Nobody takes the places from the others. An owner has a part of them; the owner's requests beyond it wait for those before them. A
 * request whose rest does not follow its headers at once gives its place back, and asks for one again when it is whole, before those
 * that were not let in yet. Places for tokens that have to be verified are a part of all, too.
 */
export class Admission implements Steward {
  readonly #limits: AdmissionLimits;
  readonly #shed: (protocol: Protocol, reason: ShedReason) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #pace = new Pace();
  readonly #most: { readonly [part in keyof typeof PARTS]: number };
  readonly #arrivals: Arrivals;
  /** Not let in yet. */
  readonly #waiting: Waiting[] = [];
  /** Let in, without a place, and served as soon as there is one. */
  readonly #returning: Place[] = [];
  /** Of whom requests wait: no more than there are parts. */
  readonly #crowded = new Set<OwnerShare>();
  readonly #owners = new Map<string, OwnerShare>();
  /** Whose rest was awaited since the last tick, and since the one before. */
  #fresh: Place[] = [];
  #stale: Place[] = [];
  #inFlight = 0;
  #verifying = 0;
  #forgotten = performance.now();
  /** Lets in those that wait, once a turn: it has to be no deeper in a call than who leaves. */
  #wake: NodeJS.Immediate | undefined;

  /** `shed` hears of each request that is not served. */
  constructor(limits: AdmissionLimits, shed: (protocol: Protocol, reason: ShedReason) => void) {
    this.#limits = limits;
    this.#shed = shed;
    const part = (parts: number) => Math.ceil(limits.maxInFlight / parts);
    this.#most = Object.fromEntries(Object.entries(PARTS).map(([name, parts]) => [name, part(parts)])) as never;
    const { arriving: all, arrivingOfOwner: ofOwner, arrivingOfConnection: ofConnection } = this.#most;
    this.#arrivals = new Arrivals({ all, ofOwner, ofConnection });
    this.#timer = setInterval(() => this.#look(performance.now()), TICK).unref();
  }

  /** Another with so many places of its own, whose requests neither take any of these nor wait for them. It has to be closed, too. */
  beside(maxInFlight: number): Admission {
    return new Admission({ ...this.#limits, maxInFlight }, this.#shed);
  }

  /** Requests that were let in and hold a place. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Requests that wait for a place. */
  get waiting(): number {
    let waiting = this.#waiting.length + this.#returning.length;
    for (const owner of this.#crowded) waiting += owner.waiting.length;
    return waiting;
  }

  /** Requests whose rest does not come, and that hold no place. */
  get arriving(): number {
    return this.#arrivals.size;
  }

  /** Admits a request, at once or later, or refuses it, or forgets it once its client has left. */
  enter(entrant: Entrant): void {
    if (this.#waiting.length === 0 && this.#returning.length === 0 && this.#hasRoom()) this.#admit(entrant);
    else if (entrant.mayWait && this.#waiting.length < MAX_WAITING)
      this.#waiting.push({ entrant, since: performance.now() });
    else this.#refuse(entrant, 'queue', OVERLOADED);
  }

  /** See Place. */
  verifying(place: Place): boolean {
    if (this.#verifying >= this.#most.verifying) {
      this.#turnAway(place, 'in_flight', OVERLOADED);
      return false;
    }
    this.#verifying++;
    place.isVerifying = true;
    return true;
  }

  /** See Place. */
  belong(place: Place, name: string): void {
    if (place.state === 'left') return;
    this.#verified(place);
    const owner = this.#ownerOf(name);
    place.owner = owner;
    if (owner.held < this.#most.owner) {
      owner.held++;
      place.entrant.proceed();
    } else {
      this.#vacate();
      this.#waitForOwner(place, owner);
    }
  }

  /** See Place. */
  awaitRest(place: Place): void {
    place.isAwaited = true;
    this.#fresh.push(place);
  }

  /** See Place. */
  whole(place: Place): void {
    place.isAwaited = false;
    if (place.state === 'held') place.entrant.proceed();
    if (place.state !== 'arriving') return;
    this.#arrivals.delete(place);
    const { owner } = place;
    if (owner === undefined || owner.held < this.#most.owner) this.#return(place);
    else this.#waitForOwner(place, owner);
  }

  /** See Place. */
  leave(place: Place): void {
    const { state, owner } = place;
    if (state === 'left') return;
    place.state = 'left';
    place.isAwaited = false;
    this.#verified(place);
    if (state === 'arriving') this.#arrivals.delete(place);
    if (state === 'held' || state === 'returning') this.#release(owner);
    if (state === 'held') this.#vacate();
  }

  /** Ends its timer, and refuses what waits. */
  close(): void {
    clearInterval(this.#timer);
    for (const { entrant } of this.#waiting.splice(0)) this.#refuse(entrant, this.#reason(), OVERLOADED);
  }

  #hasRoom = () => this.#inFlight < this.#limits.maxInFlight && this.#pace.allows;

  #admit(entrant: Entrant): void {
    this.#inFlight++;
    this.#pace.spend();
    entrant.admit(new Place(this, entrant));
  }

  #ownerOf(name: string): OwnerShare {
    const known = this.#owners.get(name);
    if (known !== undefined) return known;
    const owner = { held: 0, arriving: 0, waiting: [] };
    this.#owners.set(name, owner);
    return owner;
  }

  #verified(place: Place): void {
    if (place.isVerifying) this.#verifying--;
    place.isVerifying = false;
  }

  /** A place is free. */
  #vacate(): void {
    this.#inFlight--;
    if (this.#waiting.length > 0 || this.#returning.length > 0) this.#letInSoon();
  }

  /** An owner has a place less. */
  #release(owner: OwnerShare | undefined): void {
    if (owner === undefined) return;
    owner.held--;
    if (owner.waiting.length > 0) this.#letInSoon();
  }

  #waitForOwner(place: Place, owner: OwnerShare): void {
    place.state = 'owner';
    if (!place.entrant.mayWait || owner.waiting.length >= MAX_WAITING / PARTS.owner) {
      this.#turnAway(place, 'owner', OWNER_BUSY);
      return;
    }
    place.since = performance.now();
    owner.waiting.push(place);
    this.#crowded.add(owner);
  }

  /** Its owner has a place for it; so it goes on as soon as there is one. */
  #return(place: Place): void {
    if (place.owner !== undefined) place.owner.held++;
    if (this.#inFlight < this.#limits.maxInFlight) this.#hold(place);
    else {
      place.state = 'returning';
      place.since = performance.now();
      this.#returning.push(place);
    }
  }

  #hold(place: Place): void {
    this.#inFlight++;
    place.state = 'held';
    place.entrant.proceed();
  }

  #letInSoon(): void {
    this.#wake ??= setImmediate(() => this.#letIn());
  }

  #letIn(): void {
    this.#wake = undefined;
    for (const owner of this.#crowded) this.#letInOf(owner);
    while (this.#returning.length > 0 && this.#inFlight < this.#limits.maxInFlight) {
      const place = this.#returning.shift()!;
      if (place.state === 'returning') this.#hold(place);
    }
    while (this.#waiting.length > 0 && this.#hasRoom()) {
      const { entrant } = this.#waiting.shift()!;
      if (entrant.isGone) this.#shed(entrant.protocol, 'gone');
      else this.#admit(entrant);
    }
  }

  #letInOf(owner: OwnerShare): void {
    while (owner.waiting.length > 0 && owner.held < this.#most.owner) {
      const place = owner.waiting.shift()!;
      if (place.state === 'owner') this.#return(place);
    }
    if (owner.waiting.length === 0) this.#crowded.delete(owner);
  }

  #look(now: number): void {
    this.#pace.turned();
    const oldest = now - this.#limits.maxWait;
    while (this.#waiting.length > 0 && this.#waiting[0]!.since < oldest) {
      this.#refuse(this.#waiting.shift()!.entrant, this.#reason(), OVERLOADED);
    }
    this.#expire(this.#returning, oldest, 'in_flight', OVERLOADED);
    for (const owner of this.#crowded) this.#expire(owner.waiting, oldest, 'owner', OWNER_BUSY);
    this.#suspend(now);
    for (const { entrant } of this.#arrivals.olderThan(now - this.#limits.requestTimeout * 1_000)) entrant.late();
    this.#forget(now);
    this.#letIn();
  }

  #expire(places: Place[], oldest: number, reason: ShedReason, error: PlantStoreError): void {
    while (places.length > 0 && places[0]!.since < oldest) {
      const place = places.shift()!;
      if (place.state !== 'left') this.#turnAway(place, reason, error);
    }
  }

  /**
   * Takes the places of those whose rest is awaited since the tick before the last: the event loop has read from every socket
   * since, so that the rest of a request that was sent in one piece is there. Those that are too many to be on their way keep their
   * places while there are enough, and are refused once others need them.
   */
  #suspend(now: number): void {
    const kept: Place[] = [];
    for (const place of this.#stale) {
      if (!place.isAwaited || place.state !== 'held') continue;
      place.since ||= now;
      const denial = this.#arrivals.add(place);
      if (denial === undefined) {
        place.state = 'arriving';
        this.#release(place.owner);
        this.#vacate();
      } else if (this.#inFlight > this.#most.kept) this.#turnAway(place, denial.reason, denial.error);
      else if (place.since < now - this.#limits.requestTimeout * 1_000) place.entrant.late();
      else kept.push(place);
    }
    this.#stale = this.#fresh;
    this.#fresh = kept;
  }

  /** To forget an owner at the end of each request would make a map of many of them garbage all the time. */
  #forget(now: number): void {
    if (now - this.#forgotten < FORGET) return;
    this.#forgotten = now;
    for (const [name, { held, arriving, waiting }] of this.#owners)
      if (held + arriving + waiting.length === 0) this.#owners.delete(name);
  }

  /** What those that wait are waiting for. */
  #reason = (): ShedReason => (this.#inFlight >= this.#limits.maxInFlight ? 'in_flight' : 'cpu');

  /** Refuses what was let in. */
  #turnAway(place: Place, reason: ShedReason, error: PlantStoreError): void {
    this.leave(place);
    this.#refuse(place.entrant, reason, error);
  }

  #refuse(entrant: Entrant, reason: ShedReason, error: PlantStoreError): void {
    this.#shed(entrant.protocol, entrant.isGone ? 'gone' : reason);
    entrant.refuse(error);
  }
}
