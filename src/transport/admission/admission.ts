import { RateLimit } from '../../auth/rate-limit.ts';
import type { PlantStoreError } from '../../domain/errors.ts';
import type { Protocol, ShedReason } from '../../observe/request.ts';
import { CLIENT_LEFT, OVERLOADED, OWNER_BUSY, type Permit, Semaphore } from '../../semaphore.ts';
import { Budget } from './budget.ts';
import { Caller, type Connection } from './connection.ts';
import { Turns } from './turns.ts';

/** Bounds on the requests of all callers together. */
export interface AdmissionLimits {
  /** Most requests that are served at once. */
  readonly maxInFlight: number;
  /** Milliseconds that a request may wait for its turn, and again for a permit. */
  readonly maxWait: number;
  /** Bytes that all requests under way may hold. */
  readonly requestMemory: number;
  /** Most open connections to each port. Default: as many as come. */
  readonly maxConnections?: number;
  /** Most requests of an owner in a second. Default: as many as it sends. */
  readonly rateLimit?: number | undefined;
}

/** An owner's share of the permits, as a fraction: so no owner can take all of them. */
const SHARE_DIVISOR = 4;

/** Milliseconds that everybody may wait for a turn: no turn comes at once. */
const MIN_WAIT = 10;

/**
 * The way in, the same for every protocol (docs/architecture.md, "Overload"). It bounds, for all callers together and
 * for each of them, the connections to a port (places), the CPU (`turns`), what requests hold on their way (`memory`),
 * and those that the service works on or whose answers are being sent (`permit`). An overloaded instance lets requests
 * wait, and refuses those that have waited for `maxWait`.
 */
export class Admission {
  /** Milliseconds that a request may wait for its turn. */
  readonly maxWait: number;
  readonly turns: Turns;
  readonly memory: Budget;
  readonly #places: { readonly http: Budget; readonly grpc: Budget };
  readonly #permits: Semaphore;
  readonly #rate: RateLimit | undefined;
  readonly #shed: (protocol: Protocol, reason: ShedReason) => void;
  /**
   * Connections on which no request has begun, by port: a flood of one port keeps no new client of the other waiting.
   */
  readonly fresh = { http: new Caller(''), grpc: new Caller('') } as const;
  readonly unverified = new Caller('');
  /** Connections that ask for nothing but the health of the instance. */
  readonly probes = new Caller('');
  /** Connections of other instances. No owner has such a name. */
  readonly #instances = new Caller('\0instances');
  readonly #callers = new Callers();

  /** `shed` is called for what is refused or ended, `crowded` for connections that end as there are too many. */
  constructor(
    { maxInFlight, maxWait, requestMemory, maxConnections = Infinity, rateLimit }: AdmissionLimits,
    shed: (protocol: Protocol, reason: ShedReason) => void,
    crowded: () => void = () => {},
  ) {
    this.#shed = shed;
    this.maxWait = Math.max(maxWait, MIN_WAIT);
    this.turns = new Turns(this.maxWait, [this.fresh.http, this.fresh.grpc, this.probes]);
    this.memory = new Budget('memory', requestMemory, ({ protocol }) => shed(protocol, 'memory'));
    const places = (port: 'http' | 'grpc') => new Budget(port, maxConnections, crowded);
    this.#places = { http: places('http'), grpc: places('grpc') };
    const share = Math.ceil(maxInFlight / SHARE_DIVISOR);
    this.#permits = new Semaphore({ permits: maxInFlight, share, maxWait, maxWaiting: Infinity });
    this.#rate = rateLimit === undefined ? undefined : new RateLimit(rateLimit);
  }

  get inFlight(): number {
    return this.#permits.used;
  }

  /** Bytes that requests hold on their way. */
  get held(): number {
    return this.memory.taken;
  }

  /** Connections that wait for their turn, and requests that wait for a permit. */
  get waiting(): number {
    return this.turns.waiting + this.#permits.waiting;
  }

  /** A connection is open. May end it, or another one. Call `closed` once it is closed. */
  opened(connection: Connection): void {
    this.memory.add(connection, 0);
    this.#placesOf(connection).add(connection, 1);
  }

  /**
   * A connection is closed: what it holds counts no more, and it waits for no turn. Until its turn, it would be kept.
   */
  closed(connection: Connection): void {
    this.#placesOf(connection).remove(connection);
    this.memory.remove(connection);
    this.turns.remove(connection);
    this.#callers.left(connection.caller);
  }

  /** The token on a connection belongs to this owner. Throws RATE_LIMITED if the owner sends more than it may. */
  verified(connection: Connection, owner: string): void {
    if (connection.caller.owner !== owner) this.#move(connection, this.#callers.of(owner));
    this.#rate?.take(owner);
  }

  /** A connection is another instance's: nobody else's connections count with it. */
  trusted(connection: Connection): void {
    if (connection.caller !== this.#instances) this.#move(connection, this.#instances);
  }

  /** A request begins on a connection. `isProbe`: it asks for the health of the instance. */
  begins(connection: Connection, isProbe = false): void {
    const { caller } = connection;
    if (caller.owner === '' && caller !== this.unverified) connection.moveTo(isProbe ? this.probes : this.unverified);
  }

  /** The error of a request that has waited too long for its turn. */
  late(protocol: Protocol): PlantStoreError {
    this.#shed(protocol, 'cpu');
    return OVERLOADED;
  }

  /**
   * A permit of an owner's share. Rejects with OVERLOADED or TOO_MANY_REQUESTS after `maxWait`. `waits`: see Semaphore.
   */
  permit(owner: string, protocol: Protocol, waits?: (waiting: Disposable) => void): Permit | Promise<Permit> {
    const permit = this.#permits.acquire(owner, waits);
    return permit instanceof Promise ? permit.catch((error) => this.#refuse(error, protocol)) : permit;
  }

  #move(connection: Connection, caller: Caller): void {
    const before = connection.caller;
    connection.moveTo(caller);
    this.#callers.left(before);
    // A connection that has closed while its token was verified takes no place any more.
    this.#callers.left(caller);
  }

  #placesOf({ protocol }: Connection): Budget {
    return protocol === 'grpc' ? this.#places.grpc : this.#places.http;
  }

  #refuse(error: PlantStoreError, protocol: Protocol): never {
    if (error !== CLIENT_LEFT) this.#shed(protocol, error === OWNER_BUSY ? 'owner' : 'in_flight');
    throw error;
  }
}

/** The callers that have connections, by owner. */
class Callers {
  readonly #known = new Map<string, Caller>();

  /** The caller of an owner: the same one as long as it has a connection. */
  of(owner: string): Caller {
    const caller = this.#known.get(owner) ?? new Caller(owner);
    this.#known.set(owner, caller);
    return caller;
  }

  /** Forgets a caller that has no connection. */
  left(caller: Caller): void {
    const isGone = caller.takes.http + caller.takes.grpc === 0;
    if (isGone && this.#known.get(caller.owner) === caller) this.#known.delete(caller.owner);
  }
}
