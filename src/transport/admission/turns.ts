import type { Caller, Connection } from './connection.ts';

/**
 * Milliseconds for the work of one turn of the event loop, in which at least one piece begins. It is short because a
 * probe on a new connection takes several turns. It is time and not CPU: systems count the CPU of a thread in ticks of
 * 4 ms.
 */
const TURN_LIMIT = 1;
/** Most steps that are planned for a turn. */
const MAX_STEPS = 128;
/**
 * Most milliseconds between two steps that count as waiting: nobody is refused because the system has stopped the
 * process for longer.
 */
const MAX_WAIT_STEP = 50;
/** Milliseconds that a caller may use before the next one has its turn. */
const CALLER_QUANTUM = 1;
/** Most milliseconds that a caller has used beyond its turn. What it used while nobody else waited is forgotten. */
const MAX_DEBT = 10;
/**
 * The part of the time of all others that each favoured caller has at least. So whoever comes is heard, and health is
 * told, also beside thousands of callers that each have their turn.
 */
const FAVOURED_PART = 1 / 4;
/** What follows from a piece of work counts until the next one begins, up to so many times the work itself. */
const MOST_FOLLOWING = 4;

/**
 * Gives connections their turns to work. Callers take turns by the time that their work takes, however many connections
 * they have, and so do the connections of a caller.
 *
 * It lets nothing more begin once the time of a turn of the event loop is over: then probes, answers of the store and
 * sockets have theirs. That time includes all that the process does meanwhile.
 */
export class Turns {
  readonly #maxWait: number;
  /** Those that need not wait until all others have had their turn. */
  readonly #favoured: readonly Caller[];
  /** The callers that have work. The one whose turn it is comes first. */
  readonly #callers = new Set<Caller>();
  #waiting = 0;
  /** Milliseconds for which connections have waited since the start, and when that was last known. */
  #clock = 0;
  #known = 0;
  /** Steps that Node will take in the next turn. */
  #steps = 0;
  /** The caller whose work began last. All that follows from it counts for this caller until other work begins. */
  #working: Caller | undefined;
  #workingSince = 0;
  /** Milliseconds of the work itself. */
  #worked = 0;
  /** When the turn began, and its number. */
  #began = 0;
  #turn = 0;
  readonly #step = (planned: number) => this.#work(planned);

  /** `maxWait`: milliseconds after which a connection's work is late. `favoured`: see FAVOURED_PART. */
  constructor(maxWait: number, favoured: readonly Caller[] = []) {
    this.#maxWait = maxWait;
    this.#favoured = favoured;
  }

  /** Milliseconds for which connections have waited since the start. Compare differences with `maxWait`. */
  get clock(): number {
    return this.#clock;
  }

  /** Connections that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Adds milliseconds to the time of this turn and of the caller that works, for what a piece of work costs outside of
   * any turn, such as the read after it.
   */
  addCost(milliseconds: number): void {
    this.#began -= milliseconds;
    if (this.#working !== undefined) this.#working.credit -= milliseconds;
  }

  /**
   * Lets a connection work as soon as it is its turn: never at once. While it waits, a further call lets it work once
   * more in the same turn of the event loop, if there is time.
   */
  add(connection: Connection): void {
    if (connection.waitsAs !== undefined) {
      this.#plan(MAX_STEPS);
      return;
    }
    if (this.#waiting === 0) this.#known = performance.now();
    connection.since = this.#clock;
    this.#push(connection);
    this.#waiting++;
    this.#plan(this.#waiting);
  }

  /** Lets a connection wait no more. No effect if it does not wait. */
  remove(connection: Connection): void {
    const caller = connection.waitsAs;
    if (caller === undefined) return;
    connection.waitsAs = undefined;
    this.#waiting--;
    caller.waiting.delete(connection);
    if (caller.waiting.size === 0) this.#callers.delete(caller);
  }

  /**
   * Plans one more step, unless `enough` or MAX_STEPS are planned. Between two steps, Node does what follows from the
   * first, so that this time is counted.
   */
  #plan(enough: number): void {
    if (this.#steps >= MAX_STEPS || this.#steps >= enough) return;
    this.#steps++;
    setImmediate(this.#step, this.#turn);
  }

  #push(connection: Connection): void {
    const { caller } = connection;
    connection.waitsAs = caller;
    caller.waiting.add(connection);
    if (this.#callers.has(caller)) return;
    caller.credit = Math.min(caller.credit, CALLER_QUANTUM);
    this.#callers.add(caller);
  }

  /** `planned`: the number of the turn in which this step was planned, for the one after it. */
  #work(planned: number): void {
    const now = performance.now();
    this.#clock += Math.min(now - this.#known, MAX_WAIT_STEP);
    this.#known = now;
    if (planned === this.#turn) {
      this.#turn++;
      this.#began = now;
    } else if (now - this.#began >= TURN_LIMIT) {
      setImmediate(this.#step, this.#turn);
      return;
    }
    this.#steps--;
    if (this.#waiting === 0) return;
    this.#charge(now);
    const connection = this.#next();
    this.remove(connection);
    this.#working = connection.caller;
    this.#workingSince = now;
    const hasMore = connection.work(this.#clock - connection.since > this.#maxWait);
    this.#worked = performance.now() - now;
    if (hasMore) this.add(connection);
    this.#plan(this.#waiting);
  }

  /** Counts the time since the last work began, for its caller. Waiting for other events is no work. */
  #charge(now: number): void {
    const caller = this.#working;
    if (caller === undefined) return;
    const time = Math.min(now - this.#workingSince, (1 + MOST_FOLLOWING) * this.#worked);
    caller.credit = Math.max(caller.credit - time, -MAX_DEBT);
    for (const one of this.#favoured)
      if (one !== caller) one.credit = Math.min(one.credit + time * FAVOURED_PART, CALLER_QUANTUM);
  }

  #next(): Connection {
    for (const { credit, waiting } of this.#favoured) if (credit > 0 && waiting.size > 0) return firstOf(waiting);
    let caller = firstOf(this.#callers);
    while (caller.credit <= 0 && this.#callers.size > 1) {
      caller.credit += CALLER_QUANTUM;
      this.#callers.delete(caller);
      this.#callers.add(caller);
      caller = firstOf(this.#callers);
    }
    return firstOf(caller.waiting);
  }
}

/** The first of a queue that is not empty. */
const firstOf = <Item>(queue: ReadonlySet<Item>): Item => queue.values().next().value!;
