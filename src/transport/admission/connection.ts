import type { Protocol } from '../../observe/request.ts';

/**
 * A connection of any protocol, as the admission sees it: it has work that waits for its turn, and it holds memory. Both
 * count for the caller whose token was verified on it last.
 */
export abstract class Connection {
  /** The protocol under which its refusals are counted. */
  abstract readonly protocol: Protocol;
  caller: Caller;
  /** Bytes of requests that it holds, by the admission's count. */
  held = 0;
  /** When its work began to wait, by the clock of Turns. */
  since = 0;
  /** Whether it waits for its turn. */
  isWaiting = false;
  /** The next connection of its caller that waits. */
  next: Connection | undefined;

  constructor(caller: Caller) {
    this.caller = caller;
  }

  /**
   * Does a small piece of the work that waits, and returns whether there is more. `isLate`: it has waited too long, so
   * that a request that begins with it must be refused.
   */
  abstract work(isLate: boolean): boolean;

  /** Ends the connection at once, because it holds too much. */
  abstract end(): void;
}

/**
 * Who shares turns and memory: an owner whose token was verified, or all callers without one. Its connections that have
 * work form a queue.
 */
export class Caller {
  /** The owner. Empty for callers without a verified token: no owner has an empty name. */
  readonly owner: string;
  /** Bytes that its connections hold. */
  held = 0;
  /** Milliseconds that it may still use before the next caller has its turn. */
  credit = 0;
  /** The next caller that has work. */
  next: Caller | undefined;
  #first: Connection | undefined;
  #last: Connection | undefined;

  constructor(owner: string) {
    this.owner = owner;
  }

  /** Whether any of its connections has work. */
  get hasWork(): boolean {
    return this.#first !== undefined;
  }

  /** Adds a connection behind the others. */
  push(connection: Connection): void {
    if (this.#last === undefined) this.#first = connection;
    else this.#last.next = connection;
    this.#last = connection;
  }

  /** Takes the first connection. There must be one. */
  shift(): Connection {
    const connection = this.#first!;
    this.#first = connection.next;
    if (this.#first === undefined) this.#last = undefined;
    connection.next = undefined;
    return connection;
  }
}

/** Bounds on the connections to a port. */
export interface ConnectionLimits {
  /** Most open connections. Any more are closed at once. */
  readonly maxConnections: number;
  /** Seconds in which a request must have arrived completely. */
  readonly requestTimeout: number;
  /**
   * Seconds after which a connection is closed when no request comes on it or its client reads nothing of its answer.
   */
  readonly idleTimeout: number;
}
