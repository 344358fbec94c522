import { monotonic, randomUUID } from '../time/host.ts';
import { pause, withTimeout } from '../time/pause.ts';
import type { Contact, Store } from './store.ts';

/** Milliseconds that a lease lasts. Then another instance can take it. */
export const LEASE_DURATION = 3_000;
/** Milliseconds between two attempts to take or renew one. */
export const LEASE_RENEWAL = 1_000;

/** Lets one instance at a time work. It only avoids contention: two that both believe they hold it do no harm. */
export class Lease {
  readonly #take: (milliseconds: number) => Promise<boolean>;
  /** By the monotonic clock: setting the system clock must not change the lease. */
  #until = Number.NEGATIVE_INFINITY;
  #asking: Promise<boolean> | undefined;

  /** `holder`: who takes it. `contact`: how other instances reach the holder; see Store.lease. */
  constructor(store: Pick<Store, 'lease'>, name: string, holder: string = randomUUID(), contact?: () => Contact) {
    this.#take = (milliseconds) => store.lease(name, holder, milliseconds, contact?.());
  }

  /** Whether this instance holds the lease. Renews it first if less than half of its duration remains, as `renew`. */
  async has(): Promise<boolean> {
    return monotonic() < this.#until - LEASE_DURATION / 2 || this.renew();
  }

  /**
   * Takes or renews the lease. A current one lasts until it expires, whatever the store says. Without one, rejects if
   * the store cannot be asked, or refuses.
   */
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
      LEASE_RENEWAL,
      () => new Error('the lease was not returned in time and will expire'),
    ).catch(() => {});
  }

  /**
   * Runs the work, repeatedly, while the lease is held. The work must end when its signal aborts. `waiting` is called
   * each time that the lease is not taken, with the fault if that is why.
   */
  async whileHeld(
    signal: AbortSignal,
    work: (held: AbortSignal) => Promise<void>,
    waiting: (fault?: unknown) => void,
  ): Promise<void> {
    while (!signal.aborted) {
      const isTaken = await this.renew().catch(waiting);
      if (isTaken === true) await this.#hold(signal, work);
      else if (isTaken === false) waiting();
      await pause(LEASE_RENEWAL, signal);
    }
    await this.giveBack();
  }

  /** Renews the lease until the signal aborts, or the lease is lost. */
  async keep(signal: AbortSignal): Promise<void> {
    do {
      await pause(LEASE_RENEWAL, signal);
    } while (!signal.aborted && (await this.renew().catch(() => false)));
  }

  async #ask(): Promise<boolean> {
    const now = monotonic();
    try {
      this.#until = (await this.#take(LEASE_DURATION)) ? now + LEASE_DURATION : Number.NEGATIVE_INFINITY;
    } catch (fault) {
      if (monotonic() >= this.#until) throw fault;
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
