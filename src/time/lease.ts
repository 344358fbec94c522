import { pause } from './pause.ts';
import { withTimeout } from './timeout.ts';

/** Milliseconds that a lease lasts; another instance takes over after it. */
const DURATION = 3_000;
/** Milliseconds between two attempts to take or renew one. */
export const RENEWAL = 1_000;

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
  #asking: Promise<boolean> | undefined;

  constructor(take: TakeLease) {
    this.#take = take;
  }

  /** Whether this instance has the lease, as far as it knows. */
  get isHeld(): boolean {
    return performance.now() < this.#until;
  }

  /** Whether this instance has the lease. Asks the store only where nobody has asked for a while. */
  async has(): Promise<boolean> {
    return performance.now() < this.#until - DURATION / 2 || this.renew();
  }

  /** Takes or renews the lease. A store that cannot be reached takes away no lease that still lasts. */
  renew(): Promise<boolean> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  /** Resolves when the lease is given back, or does so soon: it ends by itself where the store is away. */
  async giveBack(): Promise<void> {
    if (this.#until === Number.NEGATIVE_INFINITY) return;
    this.#until = Number.NEGATIVE_INFINITY;
    await withTimeout(this.#take(0), RENEWAL, () => new Error('the lease is left to end')).catch(() => {});
  }

  /** Does the work while this instance has the lease, again and again, until the signal aborts. The work ends at its own signal. */
  async whileHeld(signal: AbortSignal, work: (held: AbortSignal) => Promise<void>, waiting: () => void): Promise<void> {
    while (!signal.aborted) {
      if (await this.renew()) await this.#hold(signal, work);
      else waiting();
      await pause(RENEWAL, signal);
    }
    await this.giveBack();
  }

  async #ask(): Promise<boolean> {
    const now = performance.now();
    try {
      this.#until = (await this.#take(DURATION)) ? now + DURATION : Number.NEGATIVE_INFINITY;
    } catch {
      // What the lease is for cannot be done without the store either; whoever does it reports the fault.
    }
    return this.isHeld;
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
