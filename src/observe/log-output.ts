import { constants, openSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type DestinationStream, levels, symbols } from 'pino';

/** Most characters of buffered lines, about 20,000 request lines. Further lines are dropped. */
const MAX_BUFFERED = 4 * 1024 * 1024;
/** Milliseconds between two attempts to write. */
const RETRY_INTERVAL = 10;
/** Most milliseconds that an exiting process waits for the reader. */
const FLUSH_LIMIT = 2_000;

const SLEEPER = new Int32Array(new SharedArrayBuffer(4));

/**
 * Writes log lines to a descriptor, in order, without ever waiting for its reader. The lines of one turn of the event
 * loop go out together after it. What the reader does not take is buffered, up to a bound. Beyond it, lines are dropped
 * and counted until the buffer is empty; then `onGap` gets the number of lines missing at this place.
 *
 * It uses no thread, because a thread that blocks in a write to a full pipe can be neither interrupted nor abandoned at
 * exit.
 */
export class LogOutput implements DestinationStream {
  /** Makes pino set `lastLevel` for each line. */
  readonly [symbols.needsMetadataGsym] = true;
  lastLevel = 0;
  /** Called with the number of lines dropped at this place. */
  onGap: (lines: number) => void = () => {};
  readonly #fd: number;
  readonly #form: (line: string) => string;
  /** Whole lines. */
  #waiting = '';
  /** The rest of earlier lines, of which a part is written. */
  #rest: Buffer = Buffer.alloc(0);
  #dropped = 0;
  /** Lines dropped since the last call of `onGap`. */
  #gap = 0;
  #closed = false;
  #next: NodeJS.Immediate | NodeJS.Timeout | undefined;

  /** `fd` must be non-blocking. `form`: what a line is written as. Default: as it is. */
  constructor(fd: number, form: (line: string) => string = (line) => line) {
    this.#fd = fd;
    this.#form = form;
  }

  /** Number of dropped lines: those beyond the bound, and all after the reader closed the pipe. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Buffers a line, or drops it. While there is a reader, no fatal line is dropped: it explains a crash. */
  write(line: string): void {
    this.print(this.#form(line));
  }

  /** The same for a text that is no line of the log. */
  print(line: string): void {
    const full = this.#gap > 0 || this.#waiting.length + this.#rest.length + line.length > MAX_BUFFERED;
    if (this.#closed || (full && this.lastLevel !== levels.values.fatal)) {
      this.#dropped++;
      this.#gap++;
      return;
    }
    this.#waiting += line;
    this.#next ??= setImmediate(() => this.#flush());
  }

  /** Writes all buffered lines. Waits at most two seconds for the reader. */
  flushSync(): void {
    const deadline = performance.now() + FLUSH_LIMIT;
    while (!this.#writeOut() && performance.now() < deadline) Atomics.wait(SLEEPER, 0, 0, RETRY_INTERVAL);
  }

  #flush(): void {
    this.#next = this.#writeOut() ? undefined : setTimeout(() => this.#flush(), RETRY_INTERVAL).unref();
  }

  /** Writes what the reader accepts. Returns whether everything is written. */
  #writeOut(): boolean {
    try {
      while (this.#take()) this.#rest = this.#rest.subarray(writeSync(this.#fd, this.#rest));
      return true;
    } catch (error) {
      // Other errors, such as a full disk, may be temporary.
      if ((error as NodeJS.ErrnoException).code !== 'EPIPE') return false;
      this.#closed = true;
      this.#dropped += `${this.#rest}${this.#waiting}`.split('\n').length - 1;
      this.#waiting = '';
      this.#rest = Buffer.alloc(0);
      return true;
    }
  }

  /** Moves the lines that wait to `#rest`. Returns false if there is nothing to write. */
  #take(): boolean {
    if (this.#rest.length > 0) return true;
    if (this.#waiting === '' && this.#gap > 0) {
      const lines = this.#gap;
      this.#gap = 0;
      this.onGap(lines);
    }
    this.#rest = Buffer.from(this.#waiting);
    this.#waiting = '';
    return this.#rest.length > 0;
  }
}

/** A non-blocking descriptor for standard output. Node makes pipes and sockets so; a terminal must be reopened. */
export function openStdout(): number {
  const { fd } = process.stdout;
  if (!isatty(fd)) return fd;
  try {
    return openSync('/dev/stdout', constants.O_WRONLY | constants.O_NOCTTY | constants.O_NONBLOCK);
  } catch {
    // A terminal of another user can be written to, but not opened.
    return fd;
  }
}

/** A line of the log for people, such as `17:06:40 INFO listening protocol=rest`. An error's stack follows. */
export function readableLine(line: string): string {
  const { level, time, msg, err, ...members }: Record<string, unknown> = JSON.parse(line);
  const { message, stack } = (err ?? {}) as { message?: string; stack?: string };
  const rest = Object.entries(message === undefined ? members : { ...members, err: message })
    .map(([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('');
  const trace = stack === undefined ? '' : `${stack.replaceAll(/^/gm, '  ')}\n`;
  return `${String(time).slice(11, 19)} ${String(level).toUpperCase()} ${msg}${rest}\n${trace}`;
}
