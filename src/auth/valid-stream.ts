import type { Validity } from './validity.ts';

/** Milliseconds between two checks of a stream's token, also while the stream is idle. */
const LOOK = 500;

/**
 * The items of a source while a token is valid. Afterwards the stream rejects with the Refusal, at the next item or
 * within half a second, even if the source ignores its signal. It never ends as if it were complete.
 */
export class ValidStream<Item> implements AsyncIterableIterator<Item, undefined> {
  readonly #validity: Validity;
  readonly #end = new AbortController();
  readonly #source: AsyncIterator<Item>;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  /** `given`: another signal for the source. */
  constructor(validity: Validity, open: (signal: AbortSignal) => AsyncIterable<Item>, given?: AbortSignal) {
    this.#validity = validity;
    const signal = given === undefined ? this.ended : AbortSignal.any([given, this.ended]);
    this.#source = open(signal)[Symbol.asyncIterator]();
  }

  /** Aborts, with the Refusal as its reason, soon after the token becomes invalid. The source gets it too. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Item, undefined>> {
    // Starts with the first item: an unread stream has nothing to end.
    this.#timer ??= setInterval(() => void this.#look(), LOOK).unref();
    try {
      const step = await this.#unlessEnded(this.#source.next());
      if (step.done !== true) {
        if (!this.#validity.holds) await this.#look();
        this.ended.throwIfAborted();
        return step;
      }
      clearInterval(this.#timer);
      return { done: true, value: undefined };
    } catch (thrown) {
      // Not awaited, because the source may be slow to end.
      void this.return().catch(() => {});
      throw thrown;
    }
  }

  /** Ends the stream and its source, also before the first item. */
  async return(): Promise<IteratorResult<Item, undefined>> {
    clearInterval(this.#timer);
    await this.#source.return?.();
    return { done: true, value: undefined };
  }

  /** Checks the token. Concurrent calls share one check. */
  async #look(): Promise<void> {
    if (this.#validity.holds) return;
    this.#looking ??= this.#validity
      .confirm()
      .catch((refusal) => {
        clearInterval(this.#timer);
        this.#end.abort(refusal);
      })
      .finally(() => {
        this.#looking = undefined;
      });
    await this.#looking;
  }

  /**
   * A step of the source, or a rejection once the token is invalid, whichever is first. Removes its listener after the
   * step.
   */
  #unlessEnded<Value>(step: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      const { ended } = this;
      const end = () => reject(ended.reason);
      if (ended.aborted) end();
      else ended.addEventListener('abort', end);
      const settled = () => ended.removeEventListener('abort', end);
      step.finally(settled).then((value) => (ended.aborted ? end() : resolve(value)), reject);
    });
  }
}
