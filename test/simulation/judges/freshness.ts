import type { Scheduler } from '../machine/scheduler.ts';

/** From when on an answer must have everything. */
export interface Fresh {
  /** Position of the last event that it must have. */
  readonly from: number;
  /** The time as of which it may be. */
  readonly since: number;
}

/**
 * How fresh answers must be: they have everything that somebody knew of before the call. Where a server that was
 * deposed may answer (docs/mongodb.md, Reads), they have everything from before it was.
 */
export class Freshness {
  readonly #scheduler: Scheduler;
  readonly #known: () => number;
  readonly #isStrict: boolean;
  #deposed: (Fresh & { readonly process: object; readonly until: number })[] = [];

  /**
   * `known`: position of the last event that somebody knows of. `isStrict`: a server that was deposed answers nothing.
   */
  constructor(scheduler: Scheduler, known: () => number, isStrict: boolean) {
    this.#scheduler = scheduler;
    this.#known = known;
    this.#isStrict = isStrict;
  }

  /** From now on a process reaches only a server that was deposed. */
  deposed(process: object, milliseconds: number): void {
    if (this.#isStrict) return;
    this.#deposed.push({ ...this.#now(), process, until: this.#scheduler.now + milliseconds });
  }

  /** A backup was restored: no server is left that knows what came after it. */
  restore(): void {
    this.#deposed = [];
  }

  /** How fresh the answer to a call must be that begins now, if a process gives it, or any of them. */
  of(process?: object): Fresh {
    const { now } = this.#scheduler;
    this.#deposed = this.#deposed.filter(({ until }) => until > now);
    const first = this.#deposed.find((deposed) => process === undefined || process === deposed.process);
    return first ?? this.#now();
  }

  #now(): Fresh {
    return { from: this.#known(), since: this.#scheduler.now };
  }
}
