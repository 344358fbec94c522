import { Backoff } from '../../time/backoff.ts';
import { pause } from '../../time/pause.ts';
import { BrokenChainError, headAt, verifyContent, verifyKept, verifyNext } from '../event/chain.ts';
import type { Head, LoggedEvent } from '../event/event.ts';
import type { Store } from '../store.ts';
import { LogChangedError } from './log-changed.ts';
import { shareCalls } from './share-calls.ts';
import type { Tail } from './tail.ts';

/** Reads on in vain after which a log that ends before its head is taken for a fault of the store. */
const MAX_EMPTY_READS = 3;

/** Milliseconds between two looks at the log for what other instances appended. */
const POLL = 100;
/** Longest time between two looks while the store cannot be reached, in milliseconds. */
const MAX_POLL = 2_000;

/**
 * Keeps the tail up with the log, whoever appends to it. Every event is checked to continue the chain before it is built on, and
 * every look at the head that the log still is the one that was seen before. Once it is not, nothing goes on: see `changed`.
 */
export class Follower {
  readonly #store: Store;
  readonly #tail: Tail;
  #syncedAt: number | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;
  readonly #changed = new AbortController();

  constructor(store: Store, tail: Tail) {
    this.#store = store;
    this.#tail = tail;
  }

  /** Milliseconds since 1970 of the last `sync` that succeeded. */
  get syncedAt(): number | undefined {
    return this.#syncedAt;
  }

  /** Of performance.now(): when the last look at the head began that found the log as it was known. */
  get lookedAt(): number {
    return this.#lookedAt;
  }

  /** Aborts, with LogChangedError, once it finds that the log was replaced. Every method then rejects with it. */
  get changed(): AbortSignal {
    return this.#changed.signal;
  }

  /**
   * Resolves when the tail holds everything that any instance acknowledged before the call. Concurrent callers share one read of
   * the head. Rejects when the store cannot be reached, or with LogChangedError.
   */
  readonly sync: () => Promise<void> = shareCalls(() =>
    this.#trusting(async () => {
      const began = performance.now();
      const known = this.#tail.head;
      const head = await this.#store.head();
      verifyKept(known, head);
      await this.reach(head.position);
      this.#lookedAt = began;
      this.#syncedAt = Date.now();
    }),
  );

  /** Reads all there is after the tail's head. Concurrent callers share one read that starts after they asked. */
  readonly readOn: () => Promise<void> = shareCalls(() =>
    this.#trusting(async () => {
      for await (const batch of this.#store.read(this.#tail.head.position)) this.#take(batch);
    }),
  );

  /** Takes what a read or an append found out about the log: an error that says that it is another ends everything. */
  distrust(error: unknown): void {
    if (error instanceof BrokenChainError) this.#changed.abort(new LogChangedError(error.message, { cause: error }));
    else if (error instanceof LogChangedError) this.#changed.abort(error);
  }

  async #trusting(look: () => Promise<void>): Promise<void> {
    this.changed.throwIfAborted();
    try {
      await look();
    } catch (error) {
      this.#lookedAt = Number.NEGATIVE_INFINITY;
      this.distrust(error);
      this.changed.throwIfAborted();
      throw error;
    }
  }

  /** Resolves when the tail reaches a position that is known to be in the log. */
  async reach(position: number): Promise<void> {
    for (let reads = 0; this.#tail.head.position < position; reads++) {
      if (reads === MAX_EMPTY_READS)
        throw new Error(`the store says the log reaches ${position}, but does not show it`);
      await this.readOn();
    }
  }

  /** Resolves when the tail reaches a checkpoint of the read model: rows that stand there want such a tail on top. */
  async reachCheckpoint(checkpoint: number): Promise<void> {
    await this.reach(checkpoint);
    this.#tail.projected(checkpoint);
  }

  /**
   * Looks for news until the signal aborts, so that an instance that nobody asks hears of them too. Tells `onChange` when the
   * store cannot be reached (with the fault) and when it can again (without), the first look included. Ends once the log is
   * another, with that for the last fault.
   */
  async watch(signal: AbortSignal, onChange: (fault: unknown) => void): Promise<void> {
    const backoff = new Backoff(2 * POLL, MAX_POLL);
    let isReachable: boolean | undefined;
    while (!signal.aborted) {
      try {
        await this.sync();
        if (isReachable !== true) onChange(undefined);
        isReachable = true;
        backoff.reset();
        await pause(POLL, signal);
      } catch (error) {
        if (this.changed.aborted) return onChange(error);
        if (isReachable !== false) onChange(error);
        isReachable = false;
        await pause(backoff.next(), signal);
      }
    }
  }

  /** Own appends may have reached the tail while the batch was read: what it holds already is passed over. */
  #take(batch: readonly LoggedEvent[]): void {
    let head: Head = this.#tail.head;
    const news: LoggedEvent[] = [];
    for (const event of batch) {
      if (event.position <= head.position) continue;
      verifyNext(head, event);
      verifyContent(event);
      news.push(event);
      head = headAt(event);
    }
    this.#tail.extend(news);
  }
}
