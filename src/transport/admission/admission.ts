import { PlantStoreError } from '../../domain/errors.ts';
import type { Protocol, ShedReason } from '../../observe/request.ts';
import { Arrivals } from './arrivals.ts';
import { Pace } from './pace.ts';
import { type Entrant, type OwnerShare, Place, type Steward } from './place.ts';

/** Bounds that make requests wait or be refused. */
export interface AdmissionLimits {
  /** Most requests that are served at once. */
  readonly maxInFlight: number;
  /** Milliseconds that a request may wait for admission. */
  readonly maxWait: number;
  /** Seconds in which a request must have arrived completely. */
  readonly requestTimeout: number;
}

/** The error of every refused request. One shared error: a new one for each would make a refusal expensive. */
export const OVERLOADED = new PlantStoreError('OVERLOADED', 'too many requests are being served; try again', {
  retryAfter: 1,
});

/** The error of a request that waited too long for earlier requests of the same owner. */
const OWNER_BUSY = new PlantStoreError(
  'TOO_MANY_REQUESTS',
  'too many requests of this owner are being served; wait for their answers',
  { retryAfter: 1 },
);

/** Milliseconds between two checks of the event loop and the queues. */
const TICK = 10;
/** Most waiting requests. A client that sends more requests without awaiting answers must not fill the memory. */
const MAX_WAITING = 10_000;
/** Milliseconds between two sweeps for owners without requests. */
const FORGET = 1_000;

/**
 * Bounds as fractions of all places, each 1/n: the places of one owner, and the places of requests whose tokens are
 * being verified. Apart from the places: arriving requests in all, of one owner, and on one connection. Further
 * arriving requests keep their places while no more than `kept` of all places are held.
 *
 * With the default of 1,024 places, a connection may have as many arriving requests as gRPC lets it open: calls with
 * large messages share its flow-control window, and none of them is slow on its own.
 */
const PARTS = { owner: 4, verifying: 2, arriving: 2, arrivingOfOwner: 8, arrivingOfConnection: 8, kept: 2 } as const;

interface Waiting {
  readonly entrant: Entrant;
  readonly since: number;
}

/**
 * Sheds load before it costs anything. Admits requests of all protocols while there is room and the event loop keeps
 * up. The others wait in order of arrival. A request that has waited too long is refused.
 *
 * A refusal costs a large part of what a small request costs, and a refused client retries at once: an instance could
 * spend all its time on refusals. Waiting costs nothing, and a client that awaits its answer sends nothing meanwhile.
 * So the instance works off bursts, and under lasting overload refuses such a client at most once per waiting time. A
 * client that does not await its answers is refused at once.
 *
 * No client can take all places. An owner has a fraction of them; further requests of the owner wait for the earlier
 * ones. A request whose rest does not follow its headers at once gives its place back. It asks for a place again when
 * it is complete, and goes ahead of requests that are not admitted yet. Requests whose tokens must be verified also
 * have only a fraction of the places.
 */
export class Admission implements Steward {
  readonly #limits: AdmissionLimits;
  readonly #shed: (protocol: Protocol, reason: ShedReason) => void;
  readonly #pace = new Pace();
  readonly #most: { readonly [part in keyof typeof PARTS]: number };
  readonly #arrivals: Arrivals;
  /** Requests that are not admitted yet. */
  readonly #waiting: Waiting[] = [];
  /** Admitted requests without a place. Each continues as soon as a place is free. */
  readonly #returning: Place[] = [];
  /** Owners with waiting requests: at most as many as there are parts. */
  readonly #crowded = new Set<OwnerShare>();
  readonly #owners = new Map<string, OwnerShare>();
  /** Places that await the rest of their request: since the last tick, and since the tick before. */
  #fresh: Place[] = [];
  #stale: Place[] = [];
  #inFlight = 0;
  #verifying = 0;
  #forgotten = performance.now();
  /** Checks the event loop and the queues. Runs while there are requests, so that an idle instance sleeps. */
  #timer: NodeJS.Timeout | undefined;
  /** Admits waiting requests, once a turn: never deeper in the call stack of a request that leaves. */
  #wake: NodeJS.Immediate | undefined;

  /** `shed` is called for each request that is not served. */
  constructor(limits: AdmissionLimits, shed: (protocol: Protocol, reason: ShedReason) => void) {
    this.#limits = limits;
    this.#shed = shed;
    const part = (parts: number) => Math.ceil(limits.maxInFlight / parts);
    this.#most = Object.fromEntries(Object.entries(PARTS).map(([name, parts]) => [name, part(parts)])) as never;
    const { arriving: all, arrivingOfOwner: ofOwner, arrivingOfConnection: ofConnection } = this.#most;
    this.#arrivals = new Arrivals({ all, ofOwner, ofConnection });
  }

  /**
   * Another admission with places of its own. Its requests neither take places here nor wait for them. Close it too.
   */
  beside(maxInFlight: number): Admission {
    return new Admission({ ...this.#limits, maxInFlight }, this.#shed);
  }

  /** Admitted requests that hold a place. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Requests that wait for a place. */
  get waiting(): number {
    let waiting = this.#waiting.length + this.#returning.length;
    for (const owner of this.#crowded) waiting += owner.waiting.length;
    return waiting;
  }

  /** Incomplete requests that hold no place. */
  get arriving(): number {
    return this.#arrivals.size;
  }

  /** Admits a request, now or later, or refuses it. Drops it once its client has left. */
  enter(entrant: Entrant): void {
    if (this.#timer === undefined) this.#start();
    if (this.#waiting.length === 0 && this.#returning.length === 0 && this.#hasRoom()) this.#admit(entrant);
    else if (entrant.mayWait && this.#waiting.length < MAX_WAITING)
      this.#waiting.push({ entrant, since: performance.now() });
    else this.refuse(entrant);
  }

  /** Refuses a request that may not wait. */
  refuse(entrant: Entrant): void {
    this.#refuse(entrant, 'queue', OVERLOADED);
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

  /** Refuses the waiting requests. */
  close(): void {
    this.#stop();
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

  /** Frees a place. */
  #vacate(): void {
    this.#inFlight--;
    if (this.#waiting.length > 0 || this.#returning.length > 0) this.#letInSoon();
  }

  /** Returns a place to its owner's share. */
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

  /** Takes a place of the owner's share. The request continues as soon as any place is free. */
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

  #start(): void {
    this.#pace.resumed();
    this.#timer = setInterval(() => this.#look(performance.now()), TICK).unref();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
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
    if (this.#isIdle()) this.#stop();
  }

  /** Whether no request is left, and no owner remembered. A new request comes through `enter`. */
  #isIdle = (): boolean =>
    this.#inFlight + this.#waiting.length + this.#returning.length + this.#arrivals.size === 0 &&
    this.#fresh.length + this.#stale.length + this.#owners.size === 0;

  #expire(places: Place[], oldest: number, reason: ShedReason, error: PlantStoreError): void {
    while (places.length > 0 && places[0]!.since < oldest) {
      const place = places.shift()!;
      if (place.state !== 'left') this.#turnAway(place, reason, error);
    }
  }

  /**
   * Takes the places of requests whose rest has been awaited since before the previous tick. The event loop has read
   * every socket since then, so the rest of a request sent in one piece would be here. Requests above the bounds on
   * arrivals keep their places while there are enough. They are refused once others need the places.
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

  /**
   * Forgets owners in batches. Removing an owner at the end of each request would constantly make garbage of a large
   * map.
   */
  #forget(now: number): void {
    if (now - this.#forgotten < FORGET) return;
    this.#forgotten = now;
    for (const [name, { held, arriving, waiting }] of this.#owners)
      if (held + arriving + waiting.length === 0) this.#owners.delete(name);
  }

  /** What the waiting requests wait for. */
  #reason = (): ShedReason => (this.#inFlight >= this.#limits.maxInFlight ? 'in_flight' : 'cpu');

  /** Refuses an admitted request. */
  #turnAway(place: Place, reason: ShedReason, error: PlantStoreError): void {
    this.leave(place);
    this.#refuse(place.entrant, reason, error);
  }

  #refuse(entrant: Entrant, reason: ShedReason, error: PlantStoreError): void {
    this.#shed(entrant.protocol, entrant.isGone ? 'gone' : reason);
    entrant.refuse(error);
  }
}
