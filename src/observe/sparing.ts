import { messageOf } from './logger.ts';

/** Milliseconds between two lines about the same fault. */
const INTERVAL = 30_000;

/** Most faults to remember. The one whose line is the oldest is forgotten first, and is then new when it comes again. */
const MAX_KNOWN = 64;

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
  const known = new Map<string, { readonly writtenAt: number; repeated: number }>();
  return (err) => {
    const name = nameOf(err);
    const before = known.get(name);
    const now = performance.now();
    if (before !== undefined && now < before.writtenAt + INTERVAL) {
      before.repeated++;
      return;
    }
    // Deleted and set again, so that the map stays in the order of the lines.
    known.delete(name);
    if (known.size === MAX_KNOWN) known.delete(known.keys().next().value!);
    known.set(name, { writtenAt: now, repeated: 0 });
    write(before === undefined || before.repeated === 0 ? { err } : { err, repeated: before.repeated });
  };
}

/** Times, and numbers of connections: a database that does not answer has new ones in each message. */
const MEASURED = /\b\d+ ?ms\b|\bconnection \d+\b/g;

function nameOf(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault);
  const { name, code, errcode } = fault as Error & { readonly code?: unknown; readonly errcode?: unknown };
  return [name, code, errcode, messageOf(fault).replaceAll(MEASURED, '')].join();
}
