import type { Caller, Connection } from './connection.ts';

/**
 * Bounds the open connections to a port. When one comes beyond the bound, the caller that has most loses its oldest one.
 * So whoever has few gets in, and stays, however many others open. Only when nobody has more than one, nobody else gets
 * in.
 */
export class Places {
  readonly #maximum: number;
  readonly #ended: () => void;
  /** The connections of each caller that has some, the oldest one first. */
  readonly #callers = new Map<Caller, Set<Connection>>();
  #open = 0;
  /** Who had most at the last look, in this turn of the event loop: a look takes longer than to end a connection. */
  #largest: ReadonlySet<Connection> = new Set();

  /** `ended` is called for each connection that is ended. */
  constructor(maximum: number, ended: () => void) {
    this.#maximum = maximum;
    this.#ended = ended;
  }

  /** A connection is open. May end it, or another one. */
  enter(connection: Connection): void {
    this.#add(connection);
    if (this.#open <= this.#maximum) return;
    const largest = this.#look();
    const ended: Connection = largest.size > 1 ? largest.values().next().value! : connection;
    this.leave(ended);
    ended.end();
    this.#ended();
  }

  /** A connection is closed. No effect if it has left, or was ended. */
  leave(connection: Connection): void {
    const own = this.#callers.get(connection.caller);
    if (own === undefined || !own.delete(connection)) return;
    this.#open--;
    if (own.size === 0) this.#callers.delete(connection.caller);
  }

  /** A connection belongs to this caller from now on, which it does not say yet. */
  move(connection: Connection, caller: Caller): void {
    const own = this.#callers.get(connection.caller);
    if (own?.has(connection) !== true) return;
    this.leave(connection);
    this.#add(connection, caller);
  }

  #add(connection: Connection, caller = connection.caller): void {
    const own = this.#callers.get(caller);
    if (own === undefined) this.#callers.set(caller, new Set([connection]));
    else own.add(connection);
    this.#open++;
  }

  #look(): ReadonlySet<Connection> {
    if (this.#largest.size > 1) return this.#largest;
    for (const own of this.#callers.values()) if (own.size > this.#largest.size) this.#largest = own;
    setImmediate(() => {
      this.#largest = new Set();
    });
    return this.#largest;
  }
}
