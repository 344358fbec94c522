import { LRUCache } from 'lru-cache';
import { messageOf } from './logger.ts';

/** Milliseconds between two lines about the same fault. */
const INTERVAL = 30_000;

/** Most kinds to remember. The one whose line is the oldest is forgotten first, and is then new when it comes again. */
const MAX_KNOWN = 256;

/** What a line says about a fault. */
export interface ReportedFault {
  readonly err: unknown;
  /** How often the same fault came since the line before, which were not written. Undefined: never. */
  readonly repeated?: number;
}

/**
 * A function that takes every fault of work that is tried again and again, and writes it sparingly: a fault that is new
 * at once, and the same fault at most twice a minute. Faults with different messages or codes are different, so no
 * fault hides another. What a driver measures or counts in its messages makes no difference.
 */
export function sparing(write: (fault: ReportedFault) => void): (fault: unknown) => void {
  const sample = sampler(INTERVAL, 1);
  return (err) => {
    const repeated = sample(nameOf(err));
    if (repeated !== undefined) write(repeated === 0 ? { err } : { err, repeated });
  };
}

/**
 * A function that says whether to write a line about something of a kind: the first `most` within `milliseconds`. It
 * returns how many of the kind came since the line before, without one; undefined: write none.
 */
export function sampler(milliseconds: number, most: number): (kind: string) => number | undefined {
  const known = new LRUCache<string, { readonly since: number; written: number; repeated: number }>({ max: MAX_KNOWN });
  return (kind) => {
    const now = performance.now();
    let count = known.peek(kind);
    if (count === undefined || now >= count.since + milliseconds) {
      count = { since: now, written: 0, repeated: count?.repeated ?? 0 };
      known.set(kind, count);
    }
    if (count.written === most) {
      count.repeated++;
      return undefined;
    }
    const { repeated } = count;
    count.written++;
    count.repeated = 0;
    return repeated;
  };
}

/**
 * Times, and numbers of connections: a database that does not answer has new ones in each message. And the command that
 * MongoDB's user may not run, which differs each time.
 */
const MEASURED = /\b\d+ ?ms\b|\bconnection \d+\b|\bexecute command .*/gs;

/** The name of a fault: the same for what is the same, but for what is measured or counted in its message. */
export function nameOf(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault);
  const { name, code, errcode } = fault as Error & { readonly code?: unknown; readonly errcode?: unknown };
  return [name, code, errcode, messageOf(fault).replaceAll(MEASURED, '')].join();
}
