import type { Store } from '../store.ts';
import { shareCalls } from '../tail/share-calls.ts';

/**
 * Milliseconds after a rebuild took the place of the read model's rows in which an instance may still answer from what it made of the
 * rows before. A rebuild waits that long before it says that it is done.
 */
export const GENERATION_LIMIT = 250;

/**
 * Knows which rows the read model has, so that what is remembered of rows ends with them: a rebuild may have mended them. Whoever
 * uses such a memory asks `look` first; whoever makes one tells what its rows were of, and keeps it only if that still `isCurrent`.
 */
export class Generation {
  readonly #store: Store;
  readonly #listeners = new Set<() => void>();
  #current = Number.NEGATIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The newest generation that this instance has heard of. */
  get current(): number {
    return this.#current;
  }

  /** Whether rows of this generation may be remembered. */
  isCurrent(generation: number): boolean {
    return generation === this.#current;
  }

  /** Calls back when the rows of all generations so far are no longer those of the read model. */
  onReplaced(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Hears of the generation of rows that were read. */
  heard(generation: number): void {
    if (generation <= this.#current) return;
    this.#current = generation;
    for (const listener of this.#listeners) listener();
  }

  /**
   * What to wait for before a memory is used: undefined, nearly always, when the store was asked in the last GENERATION_LIMIT
   * milliseconds. It is asked in advance while anybody asks here. Rejects when the store cannot be reached.
   */
  look(): Promise<void> | undefined {
    const age = performance.now() - this.#lookedAt;
    if (age >= GENERATION_LIMIT) return this.#ask();
    if (age >= GENERATION_LIMIT / 2) this.#ask().catch(() => {});
    return undefined;
  }

  readonly #ask = shareCalls(async () => {
    const began = performance.now();
    this.heard(await this.#store.generation());
    this.#lookedAt = began;
  });
}
