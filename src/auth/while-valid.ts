import type { Validity } from './validity.ts';

/** Milliseconds between two looks at the token of a stream, whether or not it has something to say. */
const LOOK = 500;

/** A stream for as long as its caller's token counts. */
export interface ValidStream<Item> extends AsyncIterableIterator<Item, undefined> {
  /** Aborted, with the Refusal as its reason, soon after the token has ended; the source gets it too. */
  readonly ended: AbortSignal;
  /** Ends it, and the source, whether or not an item was taken. */
  return(): Promise<IteratorResult<Item, undefined>>;
}

/**
 * What a source says while a token counts. Once it does not, the stream rejects with the Refusal, at the next item or within half a
 * second, whether or not the source heeds its signal; it never ends as if it were whole. `given` ends the source too.
 */
export const whileValid = <Item>(
  validity: Validity,
  open: (signal: AbortSignal) => AsyncIterable<Item>,
  given?: AbortSignal,
): ValidStream<Item> => new Lasting(validity, open, given);

class Lasting<Item> implements ValidStream<Item> {
  readonly #validity: Validity;
  readonly #end = new AbortController();
  readonly #source: AsyncIterator<Item>;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(validity: Validity, open: (signal: AbortSignal) => AsyncIterable<Item>, given: AbortSignal | undefined) {
    this.#validity = validity;
    const signal = given === undefined ? this.ended : AbortSignal.any([given, this.ended]);
    this.#source = open(signal)[Symbol.asyncIterator]();
  }

  get ended(): AbortSignal {
    return this.#end.signal;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Item, undefined>> {
    // From the first item on: a stream that nobody takes anything of has nothing to end.
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
      // What the source is in the middle of may take its time; nobody waits for it.
      void this.return().catch(() => {});
      throw thrown;
    }
  }

  async return(): Promise<IteratorResult<Item, undefined>> {
    clearInterval(this.#timer);
    await this.#source.return?.();
    return { done: true, value: undefined };
  }

  /** Looks at the token, once at a time. */
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

  /** A step of the source, or the refusal once the token has ended, whichever is first. Nothing of it outlives the step. */
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
