import { Readable } from 'node:stream';
import type { Encoder } from './encode.ts';

/** Characters of one piece of the array, so that neither memory nor a turn of the event loop grows with a batch. */
const PIECE = 64 * 1024;

/**
 * A JSON array of rows that come in batches, written as fast as it is read. An error of the batches destroys the stream
 * before the closing bracket. However the stream ends, it calls `return` of the batches, even if none was taken.
 */
export class ArrayStream<Row> extends Readable {
  readonly #batches: AsyncIterator<readonly Row[]>;
  readonly #encode: Encoder<Row>;
  #batch: readonly Row[] = [];
  #taken = 0;
  #separator = '[';

  constructor(batches: AsyncIterable<readonly Row[]>, encode: Encoder<Row>) {
    super({ highWaterMark: PIECE });
    this.#batches = batches[Symbol.asyncIterator]();
    this.#encode = encode;
  }

  override _read(): void {
    if (this.#taken < this.#batch.length) this.push(this.#piece());
    else this.#advance().catch((error: Error) => this.destroy(error));
  }

  async #advance(): Promise<void> {
    do {
      const { done, value } = await this.#batches.next();
      if (this.destroyed) return;
      if (done) {
        this.push(this.#separator === '[' ? '[]' : ']');
        this.push(null);
        return;
      }
      this.#batch = value;
      this.#taken = 0;
    } while (this.#batch.length === 0);
    this.push(this.#piece());
  }

  #piece(): string {
    let text = '';
    while (this.#taken < this.#batch.length && text.length < PIECE) {
      text += this.#separator + this.#encode(this.#batch[this.#taken++]!);
      this.#separator = ',';
    }
    return text;
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    const returned = this.#batches.return?.() ?? Promise.resolve();
    returned.then(
      () => callback(error),
      (failure: Error) => callback(error ?? failure),
    );
  }
}
