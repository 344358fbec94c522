import type { Protocol } from '../../observe/request.ts';

const KINDS = ['memory', 'http', 'grpc'] as const;

/** What connections take and budgets bound: bytes of memory for requests, and places at the port of each protocol. */
export type Kind = (typeof KINDS)[number];

type Takes = Record<Kind, number>;

const nothing = (): Takes => ({ memory: 0, http: 0, grpc: 0 });

/** A connection as the admission sees it. It counts for the caller whose token was verified on it last. */
export abstract class Connection {
  /** The protocol under which its refusals are counted. */
  abstract readonly protocol: Protocol;
  caller: Caller;
  /** What it takes, by the admission's count. */
  readonly takes = nothing();
  /** When its work began to wait, by the clock of Turns. */
  since = 0;
  /** The caller in whose queue it waits for its turn. Undefined: it does not wait. */
  waitsAs: Caller | undefined;

  constructor(caller: Caller) {
    this.caller = caller;
  }

  /** From now on, what it takes counts for this caller. */
  moveTo(caller: Caller): void {
    for (const kind of KINDS) {
      this.caller.takes[kind] -= this.takes[kind];
      caller.takes[kind] += this.takes[kind];
    }
    this.caller = caller;
  }

  /** Does a small piece of work, and returns whether there is more. `isLate`: a request that begins is refused. */
  abstract work(isLate: boolean): boolean;

  /** Ends the connection at once, because it holds too much. */
  abstract end(): void;
}

/** Who shares turns and memory: an owner whose token was verified, or one of the groups without one in Admission. */
export class Caller {
  /** The owner. Empty for callers without a verified token; for other instances a name that no owner has either. */
  readonly owner: string;
  readonly takes = nothing();
  /** Milliseconds that it may still use before the next caller has its turn. */
  credit = 0;
  /** Number of its connections for which the memory of TLS does not count. */
  exempt = 0;
  /** Its connections that wait for their turn, in order of arrival. */
  readonly waiting = new Set<Connection>();

  constructor(owner: string) {
    this.owner = owner;
  }
}

/** Bounds on the connections to a port. */
export interface ConnectionLimits {
  /** Seconds in which a request must have arrived completely. */
  readonly requestTimeout: number;
  /** Seconds after which a connection is closed on which no request comes, or no answer is read. */
  readonly idleTimeout: number;
}
