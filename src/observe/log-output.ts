import { constants, openSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type DestinationStream, levels, symbols } from 'pino';

/** Characters of lines that wait for their reader, some 16,000 lines of requests. A line beyond them is dropped. */
const LIMIT = 4 * 1024 * 1024;
/** A pipe takes so many bytes at once whole or not at all (PIPE_BUF), so that processes that share one do not tear each other's lines. */
const ATOMIC = 4_096;
/** Milliseconds until what could not be written is tried again. */
const RETRY = 10;
/** Milliseconds that a process that ends waits for the reader. */
const FLUSH_LIMIT = 2_000;

const SLEEPER = new Int32Array(new SharedArrayBuffer(4));

/**
 * Where the lines of the log leave the process, in order. A write never waits for the reader: the lines of a turn of the event loop
 * go out together after it, and what the reader does not take waits, up to a bound. Beyond it lines are dropped and counted, until all
 * that waits is out; then `onGap` hears how many are missing at this place.
 *
 * It writes without a thread: one that is stuck in a write to a full pipe can be neither interrupted nor left behind at exit.
 */
export class LogOutput implements DestinationStream {
  /** Makes pino leave the level of each line in `lastLevel`. */
  readonly [symbols.needsMetadataGsym] = true;
  lastLevel = 0;
  /** Hears, where lines were dropped, how many. */
  onGap: (lines: number) => void = () => {};
  readonly #fd: number;
  /** Texts of whole lines. */
  #waiting: string[] = [];
  /** Bytes of the last of them. */
  #lastBytes = 0;
  /** Characters of all of them. */
  #size = 0;
  /** What is left of a text that was written in part. */
  #rest: Buffer = Buffer.alloc(0);
  #dropped = 0;
  /** Lines dropped since the last gap was told of. */
  #gap = 0;
  /** The reader is gone for good. */
  #closed = false;
  #next: NodeJS.Immediate | NodeJS.Timeout | undefined;

  /** Writes to a descriptor on which a write that would wait fails instead. */
  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Lines that nobody will read: those beyond the bound, and all since the reader has gone. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Takes a line, or drops it. Of a crash none is dropped: what it ends with matters most, and there is no second. */
  write(line: string): void {
    const full = this.#gap > 0 || this.#size + line.length > LIMIT;
    if (this.#closed || (full && this.lastLevel !== levels.values.fatal)) {
      this.#dropped++;
      this.#gap++;
      return;
    }
    const bytes = Buffer.byteLength(line);
    const last = this.#waiting.length - 1;
    if (last >= 0 && this.#lastBytes + bytes <= ATOMIC) {
      this.#waiting[last] += line;
      this.#lastBytes += bytes;
    } else {
      this.#waiting.push(line);
      this.#lastBytes = bytes;
    }
    this.#size += line.length;
    this.#next ??= setImmediate(() => this.#flush());
  }

  /** Returns when all is written, or the reader has taken too little for two seconds. */
  flushSync(): void {
    const deadline = performance.now() + FLUSH_LIMIT;
    while (!this.#writeOut() && performance.now() < deadline) Atomics.wait(SLEEPER, 0, 0, RETRY);
  }

  #flush(): void {
    this.#next = this.#writeOut() ? undefined : setTimeout(() => this.#flush(), RETRY).unref();
  }

  /** Writes what the reader takes; false when something is left. */
  #writeOut(): boolean {
    try {
      while (this.#take()) this.#rest = this.#rest.subarray(writeSync(this.#fd, this.#rest));
      return true;
    } catch (error) {
      // Whatever else it is, such as a full disk, may pass.
      if ((error as NodeJS.ErrnoException).code !== 'EPIPE') return false;
      this.#closed = true;
      this.#waiting = [];
      this.#rest = Buffer.alloc(0);
      return true;
    }
  }

  /** Puts what is next into `#rest`; false when there is nothing. */
  #take(): boolean {
    if (this.#rest.length > 0) return true;
    if (this.#waiting.length === 0 && this.#gap > 0) {
      const lines = this.#gap;
      this.#gap = 0;
      this.onGap(lines);
    }
    const text = this.#waiting.shift();
    if (text === undefined) return false;
    this.#size -= text.length;
    this.#rest = Buffer.from(text);
    return true;
  }
}

/** Standard output as a log needs it: Node makes pipes and sockets non-blocking, a terminal has to be opened anew for that. */
export function openStdout(): number {
  const { fd } = process.stdout;
  if (!isatty(fd)) return fd;
  try {
    return openSync('/dev/stdout', constants.O_WRONLY | constants.O_NOCTTY | constants.O_NONBLOCK);
  } catch {
    // Somebody else's terminal: it can be written to, not opened.
    return fd;
  }
}
