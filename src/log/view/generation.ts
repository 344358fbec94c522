import { monotonic } from '../../time/host.ts';
import type { Store } from '../store.ts';
import { shareCalls } from '../tail/share-calls.ts';

/**
 * Milliseconds for which an instance may still answer from memory of the rows before a repair. A repair waits for longer
 * before it reports that it is done.
 */
export const GENERATION_LIMIT = 250;

/**
 * Knows the generation of the read model's rows. Memory of rows ends with its generation, since a repair has
 * changed them. A caller that uses such memory awaits `look` first. A caller that fills it calls `heard` with the
 * generation of its rows, and keeps them only if that generation still `isCurrent`.
 */
export class Generation {
  readonly #store: Store;
  readonly #listeners = new Set<() => void>();
  #current = Number.NEGATIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The newest generation that this instance has seen. */
  get current(): number {
    return this.#current;
  }

  /** Whether rows of this generation may be remembered. */
  isCurrent(generation: number): boolean {
    return generation === this.#current;
  }

  /** Calls back when newer rows have replaced those of all earlier generations. */
  onReplaced(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Records the generation of rows that were read. */
  record(generation: number): void {
    if (generation <= this.#current) return;
    this.#current = generation;
    for (const listener of this.#listeners) listener();
  }

  /**
   * Resolves when memory of rows may be used. Returns undefined, nearly always, when the store was asked within the
   * last GENERATION_LIMIT milliseconds. While callers keep asking, the store is asked ahead of time. Rejects when the
   * store cannot be reached.
   */
  look(): Promise<void> | undefined {
    const age = monotonic() - this.#lookedAt;
    if (age >= GENERATION_LIMIT) return this.#ask();
    if (age >= GENERATION_LIMIT / 2) this.#ask().catch(() => {});
    return undefined;
  }

  readonly #ask = shareCalls(async () => {
    const began = monotonic();
    this.record(await this.#store.generation());
    this.#lookedAt = began;
  });
}
