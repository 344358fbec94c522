import type { Caller, Connection, Kind } from './connection.ts';

/** Most connections that are selected at once to be ended. */
const MAX_LARGE = 256;

/**
 * Bounds what all connections take together: memory of requests that are under way (headers and bodies that arrive,
 * requests that wait, answers that nobody reads), or places at a port. When it is too much, the caller that takes most
 * loses the connections that take most, of equal ones the oldest first. So whoever takes little is served, however much
 * others take. Of callers that take the same, the one that asks for more loses.
 */
export class Budget {
  readonly #kind: Kind;
  readonly #limit: number;
  readonly #ended: (connection: Connection) => void;
  /** In order of arrival. */
  readonly #connections = new Set<Connection>();
  #taken = 0;
  /** What was selected last in this turn and is not ended yet, of which caller, and how much both took at least. */
  #large: Connection[] = [];
  #caller: Caller | undefined;
  #least = { ofConnection: 0, ofCaller: 0 };

  constructor(kind: Kind, limit: number, ended: (connection: Connection) => void) {
    this.#kind = kind;
    this.#limit = limit;
    this.#ended = ended;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Adds a connection, which takes so much. May end it, or others. Remove it once it is closed. */
  add(connection: Connection, amount: number): void {
    this.#connections.add(connection);
    this.set(connection, amount);
  }

  remove(connection: Connection): void {
    this.set(connection, 0);
    this.#connections.delete(connection);
  }

  /** A connection takes so much now. May end it, or others. No effect once it was ended. */
  set(connection: Connection, amount: number): void {
    if (!this.#connections.has(connection)) return;
    const { caller, takes } = connection;
    const more = amount - takes[this.#kind];
    takes[this.#kind] = amount;
    caller.takes[this.#kind] += more;
    this.#taken += more;
    // As few as it takes: an end costs some 0.05 ms with all that follows, in one turn of the event loop.
    while (more > 0 && this.#taken > this.#limit) this.#end(this.#largestFor(connection));
  }

  #end(connection: Connection): void {
    this.remove(connection);
    connection.end();
    this.#ended(connection);
  }

  /** The connection that is to make room for what another one takes. */
  #largestFor(connection: Connection): Connection {
    const largest = this.#nextLargest();
    const isOwn = largest.caller === connection.caller;
    return isOwn || this.#ofCaller(largest) > this.#ofCaller(connection) ? largest : connection;
  }

  /**
   * A connection of the caller that takes most: its largest one, and for the rest of the turn of the event loop others,
   * while both take at least half as much. Thousands may send at once, and a look at all connections takes some 0.07
   * ms.
   */
  #nextLargest(): Connection {
    for (;;) {
      const next = this.#large.shift();
      if (next === undefined) return this.#selectLarge();
      if (this.#connections.has(next) && this.#isLarge(next)) return next;
    }
  }

  #selectLarge(): Connection {
    const largest = this.#largest();
    this.#caller = largest.caller;
    this.#least = { ofConnection: largest.takes[this.#kind] / 2, ofCaller: this.#ofCaller(largest) / 2 };
    for (const connection of this.#connections) {
      if (this.#large.length === MAX_LARGE) break;
      if (connection !== largest && this.#isLarge(connection)) this.#large.push(connection);
    }
    setImmediate(() => {
      this.#large = [];
    });
    return largest;
  }

  #isLarge(connection: Connection): boolean {
    const { ofConnection, ofCaller } = this.#least;
    return (
      connection.caller === this.#caller &&
      connection.takes[this.#kind] >= ofConnection &&
      this.#ofCaller(connection) >= ofCaller
    );
  }

  #largest(): Connection {
    let largest: Connection | undefined;
    for (const connection of this.#connections)
      if (largest === undefined || this.#isLarger(connection, largest)) largest = connection;
    return largest!;
  }

  #isLarger(one: Connection, other: Connection): boolean {
    if (one.caller === other.caller) return one.takes[this.#kind] > other.takes[this.#kind];
    return this.#ofCaller(one) > this.#ofCaller(other);
  }

  #ofCaller({ caller }: Connection): number {
    return caller.takes[this.#kind];
  }
}
