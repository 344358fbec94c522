import type { Caller, Connection } from './connection.ts';

/** Most connections that one look at all of them finds to end. */
const MOST_LARGE = 256;

/**
 * Bounds the memory of all requests that are under way: headers and bodies that arrive, requests that wait, answered
 * requests whose rest still comes. When connections hold too much together, the caller that holds most loses the
 * connections that hold most. So whoever holds little is served, however much others take.
 */
export class HeldMemory {
  readonly #limit: number;
  readonly #ended: (connection: Connection) => void;
  readonly #connections = new Set<Connection>();
  #held = 0;
  /** What the last look of this turn found and was not ended yet: of which caller, and how much each held at least. */
  #large: Connection[] = [];
  #caller: Caller | undefined;
  #least = 0;

  /** `limit` in bytes. `ended` is called for each connection that is ended. */
  constructor(limit: number, ended: (connection: Connection) => void) {
    this.#limit = limit;
    this.#ended = ended;
  }

  /** Bytes that all connections hold. */
  get held(): number {
    return this.#held;
  }

  /** Adds a connection. Remove it once it is closed. */
  add(connection: Connection): void {
    this.#connections.add(connection);
  }

  /** Removes a connection with all that it holds. */
  remove(connection: Connection): void {
    this.set(connection, 0);
    this.#connections.delete(connection);
  }

  /** A connection holds so many bytes now. May end it, or others. No effect once it was ended. */
  set(connection: Connection, bytes: number): void {
    if (!this.#connections.has(connection)) return;
    const more = bytes - connection.held;
    connection.held = bytes;
    connection.caller.held += more;
    this.#held += more;
    if (more > 0 && this.#held > this.#limit) this.#reclaim();
  }

  /** The token on a connection belongs to this caller: what the connection holds counts for it. */
  move(connection: Connection, caller: Caller): void {
    connection.caller.held -= connection.held;
    connection.caller = caller;
    caller.held += connection.held;
  }

  /** Ends as few as it takes: an end costs some 0.05 ms with all that follows, in one turn of the event loop. */
  #reclaim(): void {
    while (this.#held > this.#limit) {
      const connection = this.#nextLargest();
      this.remove(connection);
      connection.end();
      this.#ended(connection);
    }
  }

  /**
   * A connection of the caller that holds most: its largest one, and for the rest of the turn of the event loop others
   * that hold at least half as much. Thousands may send at once, and a look at all connections takes some 0.07 ms.
   */
  #nextLargest(): Connection {
    for (;;) {
      const next = this.#large.pop();
      if (next === undefined) return this.#look();
      if (this.#connections.has(next) && this.#isLarge(next)) return next;
    }
  }

  #look(): Connection {
    const largest = largestOf(this.#connections);
    this.#caller = largest.caller;
    this.#least = largest.held / 2;
    for (const connection of this.#connections) {
      if (this.#large.length === MOST_LARGE) break;
      if (this.#isLarge(connection)) this.#large.push(connection);
    }
    setImmediate(() => {
      this.#large = [];
    });
    return largest;
  }

  #isLarge({ caller, held }: Connection): boolean {
    return caller === this.#caller && held >= this.#least;
  }
}

/** The connection that holds most of the caller that holds most. */
function largestOf(connections: Iterable<Connection>): Connection {
  let largest: Connection | undefined;
  for (const connection of connections)
    if (largest === undefined || isLarger(connection, largest)) largest = connection;
  return largest!;
}

const isLarger = (one: Connection, other: Connection): boolean =>
  one.caller === other.caller ? one.held > other.held : one.caller.held > other.caller.held;
