import { randomUUID } from '../../time/host.ts';
import { Lease } from '../../time/lease.ts';
import type { Store, Unfinished } from '../store.ts';

/** Removing contents, and clearing unused space of them. */
export type FinishStep = 'read_model' | 'contents' | 'clear';

/** What the finisher does. */
export interface FinishProgress {
  readonly step: FinishStep;
  /** Events that lost their content, where the step counts them. */
  readonly done?: number;
}

/** The state of the erasures of all instances. */
export interface Erasures {
  /** Those that are not complete. */
  readonly count: number;
  /** When the oldest was decided, in milliseconds since 1970. */
  readonly since: number | undefined;
}

/**
 * Completes erasures: whoever finds an OwnerErased event that still has `erases` removes the contents of the owner's
 * earlier events, clears unused space, waits for the topic, and removes `erases`.
 *
 * Every step concerns earlier positions only, and each can be repeated. So one that comes late does no harm, and the lease
 * only keeps two instances from doing the same.
 */
export class Finisher {
  readonly #store: Store;
  readonly #publishes: boolean;
  readonly #lease: Lease;
  #pending: Erasures = { count: 0, since: undefined };

  /** `publishes`: an erasure is complete only once the topic has its event. */
  constructor(store: Store, publishes: boolean) {
    const holder = randomUUID();
    this.#store = store;
    this.#publishes = publishes;
    this.#lease = new Lease((milliseconds) => store.lease('erasure', holder, milliseconds));
  }

  /** What the last look found. */
  get pending(): Erasures {
    return this.#pending;
  }

  /** Whether only the topic is missing. */
  waitsForTopic({ erases: { isCleared, isPublished } }: Unfinished): boolean {
    return isCleared && this.#publishes && !isPublished;
  }

  /** Looks for the unfinished erasures of all instances. */
  async look(): Promise<readonly Unfinished[]> {
    const unfinished = await this.#store.unfinished();
    this.#pending = { count: unfinished.length, since: unfinished[0]?.time };
    return unfinished;
  }

  /** Takes each of these erasures as far as it goes now, unless another instance does. Yields progress. */
  async *finishAll(unfinished: readonly Unfinished[]): AsyncGenerator<FinishProgress> {
    for (const erasure of unfinished) yield* this.finish(erasure);
  }

  /**
   * Takes an erasure as far as it goes now, unless another instance does. Yields progress. Earlier erasures of the owner
   * come first: each event without content says which one removed it.
   */
  async *finish(erasure: Unfinished): AsyncGenerator<FinishProgress> {
    for (const earlier of await this.#before(erasure)) yield* this.#finish(earlier);
    if ((await this.#before(erasure)).length === 0) yield* this.#finish(erasure);
  }

  async #before({ position, erases }: Unfinished): Promise<readonly Unfinished[]> {
    const isBefore = (other: Unfinished) =>
      other.position < position && other.erases.owner === erases.owner && !other.erases.isCleared;
    return (await this.#store.unfinished()).filter(isBefore);
  }

  async *#finish(erasure: Unfinished): AsyncGenerator<FinishProgress> {
    const { position, erases } = erasure;
    const { owner, isCleared, isPublished } = erases;
    if (this.waitsForTopic(erasure)) return;
    if ((await this.#store.checkpoint()) < position || !(await this.#lease.has())) return;
    if (!isCleared) yield* this.#remove(owner, position);
    if (isPublished || !this.#publishes) await this.#store.endErasure(position);
  }

  async *#remove(owner: string, position: number): AsyncGenerator<FinishProgress> {
    for await (const done of this.#store.eraseContents(owner, position)) {
      yield { step: 'contents', done };
      await this.#lease.has();
    }
    yield { step: 'clear' };
    await this.#store.clearErased(position);
  }

  /** Gives back the lease. */
  close(): Promise<void> {
    return this.#lease.giveBack();
  }
}
