import { emptyState, type State } from './state.ts';

/** A write: the members that it changes, and what its caller gets. Throws, and so changes nothing, to refuse. */
export type Write<T> = (state: State) => { readonly changes: Partial<State>; readonly result: T };

/** What a call came to, and the version that a majority must have before the caller hears of it. */
export interface Done<T> {
  readonly result: T;
  readonly version: number;
}

/** Whom a call needs. A server that was deposed answers reads for some time. */
export type Needs = 'a server' | 'a majority';

/**
 * What becomes of the calls of one handle. A call's work is done at one instant, or never; its answer comes after that,
 * or never. The work may also be done after its answer, if that is an error.
 */
export interface Conditions {
  call<T>(what: string, work: () => Done<T>, by?: Needs): Promise<T>;
  /** The newest version that the server has which answers now. One that was deposed does not get the others' writes. */
  newest(): number;
  /** Whether nothing can be appended now, as on a full disk. */
  isFull(): boolean;
  /** Whether reads that must be fresh make sure that the server which answers has a majority. */
  readonly isStrict: boolean;
  /** The version that a read sees which may be old: none before `oldest`, none after `newest`. */
  seen(oldest: number, newest: number): number;
}

/** Where nothing goes wrong. */
export const IDEAL: Conditions = {
  call: async (_, work) => work().result,
  newest: () => Number.POSITIVE_INFINITY,
  isFull: () => false,
  isStrict: false,
  seen: (_, newest) => newest,
};

/** Where nothing goes wrong, and a majority has each write at once. */
export const atOnce = (database: Database): Conditions => ({
  ...IDEAL,
  async call(_, work) {
    const { result, version } = work();
    database.commit(version);
    return result;
  },
});

/** States that are kept for reads that may be old, and for a majority that is behind. */
const KEPT = 64;

/**
 * A database of several handles. A write is at once in the latest state. A majority has it later, when it is committed;
 * only then is it read and acknowledged. A failover forgets what no majority has.
 */
export class Database {
  readonly clock: () => number;
  #states: State[];
  #committed: State;
  readonly #listeners: ((committed: State) => void)[] = [];

  /** `clock`: milliseconds since 1970. */
  constructor(logId: string, clock: () => number) {
    this.clock = clock;
    this.#committed = emptyState(logId);
    this.#states = [this.#committed];
  }

  /** With all writes so far. */
  get latest(): State {
    return this.#states.at(-1)!;
  }

  /** What a majority has. */
  get committed(): State {
    return this.#committed;
  }

  /** The state of a version, or the oldest that is kept. */
  at(version: number): State {
    return this.#states[Math.max(version - this.#states[0]!.version, 0)]!;
  }

  /** The oldest version that is kept and was the last one at a time. */
  versionAt(time: number): number {
    const index = this.#states.findLastIndex(({ since }) => since <= time);
    return this.#states[Math.max(index, 0)]!.version;
  }

  /** Does a write. */
  write<T>(write: Write<T>): Done<T> {
    const before = this.latest;
    const { changes, result } = write(before);
    if (Object.keys(changes).length === 0) return { result, version: before.version };
    const version = before.version + 1;
    this.#states.push({ ...before, ...changes, version, since: this.clock() });
    return { result, version };
  }

  /** A majority has every write up to a version. */
  commit(version: number): void {
    while (this.#committed.version < version) {
      this.#committed = this.at(this.#committed.version + 1);
      for (const listener of this.#listeners) listener(this.#committed);
    }
    const surplus = this.#states.indexOf(this.#committed) - KEPT;
    if (surplus > 0) this.#states.splice(0, surplus);
  }

  /** Forgets what no majority has. */
  failOver(): void {
    this.#states.splice(this.#states.indexOf(this.#committed) + 1);
  }

  /**
   * Puts back what was there at an earlier moment, as the restore of a backup does. Nothing is left of what came after.
   */
  restore(backup: State): void {
    this.#states = [{ ...backup, version: this.latest.version + 1, since: this.clock() }];
    this.#committed = this.latest;
  }

  /** Calls back with each state that a majority has. */
  onCommitted(listener: (committed: State) => void): void {
    this.#listeners.push(listener);
  }
}
