/** Most bytes of an entry: its length has two bytes. */
export const MAX_ENTRY = 0xffff;

const LENGTH = 2;

/**
 * Encodes an entry bundle: each entry after its length in two bytes, big-endian (c2sp.org/tlog-tiles, "Log entries").
 * Throws RangeError for a too long entry.
 */
export function encodeEntries(entries: readonly Uint8Array[]): Uint8Array {
  const bundle = Buffer.allocUnsafe(entries.reduce((sum, { length }) => sum + LENGTH + length, 0));
  let end = 0;
  for (const entry of entries) {
    if (entry.length > MAX_ENTRY) throw new RangeError(`an entry has ${entry.length} bytes, more than ${MAX_ENTRY}`);
    end = bundle.writeUInt16BE(entry.length, end);
    bundle.set(entry, end);
    end += entry.length;
  }
  return bundle;
}

/** The entries of a bundle. Throws if the bundle is truncated. */
export function decodeEntries(bundle: Uint8Array): Uint8Array[] {
  const bytes = Buffer.from(bundle.buffer, bundle.byteOffset, bundle.byteLength);
  const entries: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const start = at + LENGTH;
    const end = start <= bytes.length ? start + bytes.readUInt16BE(at) : Number.POSITIVE_INFINITY;
    if (end > bytes.length) throw new Error(`the entry bundle ends in the middle of entry ${entries.length}`);
    entries.push(bytes.subarray(start, end));
    at = end;
  }
  return entries;
}
