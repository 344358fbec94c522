import { viewOf } from './bytes.ts';

/** Most bytes of an entry: its length has two bytes. */
export const MAX_ENTRY = 0xffff;

const LENGTH = 2;

/**
 * Encodes an entry bundle: each entry after its length in two bytes, big-endian (c2sp.org/tlog-tiles, "Log entries").
 * Throws RangeError for a too long entry.
 */
export function encodeEntries(entries: readonly Uint8Array[]): Uint8Array {
  const bundle = new Uint8Array(entries.reduce((sum, { length }) => sum + LENGTH + length, 0));
  const view = viewOf(bundle);
  let end = 0;
  for (const entry of entries) {
    if (entry.length > MAX_ENTRY) throw new RangeError(`an entry has ${entry.length} bytes, more than ${MAX_ENTRY}`);
    view.setUint16(end, entry.length);
    bundle.set(entry, end + LENGTH);
    end += LENGTH + entry.length;
  }
  return bundle;
}

/** The entries of a bundle. Throws if the bundle is truncated. */
export function decodeEntries(bundle: Uint8Array): Uint8Array[] {
  const view = viewOf(bundle);
  const entries: Uint8Array[] = [];
  for (let at = 0; at < bundle.length; ) {
    const start = at + LENGTH;
    const end = start <= bundle.length ? start + view.getUint16(at) : Number.POSITIVE_INFINITY;
    if (end > bundle.length) throw new Error(`the entry bundle ends in the middle of entry ${entries.length}`);
    entries.push(bundle.subarray(start, end));
    at = end;
  }
  return entries;
}
