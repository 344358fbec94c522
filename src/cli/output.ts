import { pipeline } from 'node:stream/promises';

/**
 * Writes texts to stdout, each with a line break, at the pace of the reader. When the reader closes the pipe early, as
 * `head` does, it ends without an error.
 */
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

/** Milliseconds between two updates of the bar. */
const INTERVAL = 200;
/** Width of the bar in characters. */
const WIDTH = 24;

/** A progress bar on stderr, with rate and time left. Shown only if stderr is a terminal. */
export class ProgressBar implements Disposable {
  readonly #started = performance.now();
  readonly #isShown = process.stderr.isTTY;
  #shown = 0;

  /** Shows that `done` of `total` events are done. Cheap enough for every batch. */
  show(done: number, total: number): void {
    const now = performance.now();
    if (!this.#isShown || now < this.#shown + INTERVAL) return;
    this.#shown = now;
    process.stderr.write(`\r${barOf(done, total, (now - this.#started) / 1_000)}\u001b[K`);
  }

  /** Removes the bar. */
  [Symbol.dispose](): void {
    if (this.#shown > 0) process.stderr.write('\r\u001b[K');
  }
}

function barOf(done: number, total: number, seconds: number): string {
  const part = total === 0 ? 1 : Math.min(Math.max(done / total, 0), 1);
  const filled = Math.round(part * WIDTH);
  const rate = done / seconds;
  const left = rate > 0 ? timeOf((total - done) / rate) : '?';
  const bar = `${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}`;
  const count = (value: number) => Math.round(value).toLocaleString('en');
  return `[${bar}] ${Math.floor(part * 100)} %  ${count(done)} of ${count(total)}  ${count(rate)}/s  ${left} left`;
}

function timeOf(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
