import { monotonic, randomUUID } from '../time/host.ts';
import { pause, withTimeout } from '../time/pause.ts';
import type { Contact, Store } from './store.ts';

/** Milliseconds that a lease lasts. Then another instance can take it. */
export const DURATION = 3_000;
/** Milliseconds between two attempts to take or renew one. */
export const RENEWAL = 1_000;

/** Lets one instance at a time work. It only avoids contention: two that both believe they hold it do no harm. */
export class Lease {
  readonly #take: (milliseconds: number) => Promise<boolean>;
  /** By the monotonic clock: setting the system clock must not change the lease. */
  #until = Number.NEGATIVE_INFINITY;
  #asking: Promise<boolean> | undefined;
  #fault: unknown;

  /** `holder`: who takes it. `contact`: how other instances reach the holder; see Store.lease. */
  constructor(store: Pick<Store, 'lease'>, name: string, holder: string = randomUUID(), contact?: () => Contact) {
    this.#take = (milliseconds) => store.lease(name, holder, milliseconds, contact?.());
  }

  /** Why the store did not take the last request. Undefined if it did. */
  get fault(): unknown {
    return this.#fault;
  }

  /** Whether this instance holds the lease. Renews it first if less than half of its duration remains. */
  async has(): Promise<boolean> {
    return monotonic() < this.#until - DURATION / 2 || this.renew();
  }

  /** Takes or renews the lease. If the store is unreachable, a current lease lasts until it expires. */
  renew(): Promise<boolean> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  /** Returns the lease. Resolves within a second, even if the store is unreachable; the lease then expires. */
  async giveBack(): Promise<void> {
    if (this.#until === Number.NEGATIVE_INFINITY) return;
    this.#until = Number.NEGATIVE_INFINITY;
    await withTimeout(
      this.#take(0),
      RENEWAL,
      () => new Error('the lease was not returned in time and will expire'),
    ).catch(() => {});
  }

  /** Runs the work, repeatedly, while the lease is held. The work must end when its signal aborts. */
  async whileHeld(signal: AbortSignal, work: (held: AbortSignal) => Promise<void>, waiting: () => void): Promise<void> {
    while (!signal.aborted) {
      if (await this.renew()) await this.#hold(signal, work);
      else waiting();
      await pause(RENEWAL, signal);
    }
    await this.giveBack();
  }

  /** Renews the lease until the signal aborts, or the lease is lost. */
  async keep(signal: AbortSignal): Promise<void> {
    do {
      await pause(RENEWAL, signal);
    } while (!signal.aborted && (await this.renew()));
  }

  async #ask(): Promise<boolean> {
    const now = monotonic();
    try {
      this.#until = (await this.#take(DURATION)) ? now + DURATION : Number.NEGATIVE_INFINITY;
      this.#fault = undefined;
    } catch (fault) {
      // The work needs the store too, and reports its own.
      this.#fault = fault;
    }
    return monotonic() < this.#until;
  }

  async #hold(signal: AbortSignal, work: (held: AbortSignal) => Promise<void>): Promise<void> {
    const lost = new AbortController();
    const held = AbortSignal.any([signal, lost.signal]);
    const working = work(held).finally(() => lost.abort());
    await this.keep(held);
    lost.abort();
    await working;
  }
}
