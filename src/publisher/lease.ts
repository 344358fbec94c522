import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds that the lease lasts; another instance takes over after it. */
const LEASE = 3_000;
/** Milliseconds between two attempts to take or renew it. */
const RENEWAL = 1_000;

/** Takes or renews the lease for so many milliseconds; 0 gives it back. False while another instance has it. */
export type TakeLease = (milliseconds: number) => Promise<boolean>;

/**
 * One instance at a time works, while the others wait. It spares them a fight and nothing else: two who both believe that they
 * have the lease do no harm.
 */
export class Lease {
  readonly #take: TakeLease;
  /** By `performance.now()`: a clock that is set must neither end nor prolong it. */
  #until = Number.NEGATIVE_INFINITY;

  constructor(take: TakeLease) {
    this.#take = take;
  }

  /** Takes or renews the lease. A store that cannot be reached takes away no lease that still lasts. */
  async renew(): Promise<boolean> {
    const now = performance.now();
    try {
      this.#until = (await this.#take(LEASE)) ? now + LEASE : Number.NEGATIVE_INFINITY;
    } catch {
      // What the lease is for cannot be done without the store either; whoever does it reports the fault.
    }
    return performance.now() < this.#until;
  }

  /** Does the work while this instance has the lease, again and again, until the signal aborts. The work ends at its own signal. */
  async whileHeld(signal: AbortSignal, work: (held: AbortSignal) => Promise<void>, waiting: () => void): Promise<void> {
    while (!signal.aborted) {
      if (await this.renew()) await this.#hold(signal, work);
      else waiting();
      await pause(RENEWAL, signal);
    }
    if (this.#until > Number.NEGATIVE_INFINITY) await this.#take(0).catch(() => {});
  }

  async #hold(signal: AbortSignal, work: (held: AbortSignal) => Promise<void>): Promise<void> {
    const lost = new AbortController();
    const held = AbortSignal.any([signal, lost.signal]);
    const working = work(held).finally(() => lost.abort());
    while (!held.aborted) {
      await pause(RENEWAL, held);
      if (!held.aborted && !(await this.renew())) lost.abort();
    }
    await working;
  }
}

/** Waits so long, if that is any time at all, or until the signal aborts. */
export const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  sleep(Math.max(milliseconds, 0), undefined, { signal }).catch(() => {});
