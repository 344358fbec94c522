import { pipeline } from 'node:stream/promises';

/** Writes texts to stdout, each with a line break, as fast as its reader reads. One that leaves is no error. */
export const print = (texts: Iterable<string> | AsyncIterable<string>): Promise<void> => write(withLineBreaks(texts));

/** Writes chunks to stdout as `print` does, without adding line breaks. */
export async function write(chunks: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>): Promise<void> {
  try {
    await pipeline(chunks, process.stdout, { end: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  }
}

async function* withLineBreaks(texts: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string> {
  for await (const text of texts) yield `${text}\n`;
}

/** Milliseconds between two lines of progress. */
const PROGRESS_INTERVAL = 2_000;

/** Writes lines of progress to stderr, if that is a terminal: what is quick has none. */
export class ProgressLine {
  #next = performance.now() + PROGRESS_INTERVAL;

  /** Tells that `done` events are done, of `total` if that is known. Cheap enough for every batch. */
  show(done: number, total?: number): void {
    if (!process.stderr.isTTY || performance.now() < this.#next) return;
    this.#next = performance.now() + PROGRESS_INTERVAL;
    const all = total === undefined ? '' : ` of ${total.toLocaleString('en')}`;
    console.error(`${done.toLocaleString('en')}${all} events`);
  }
}
