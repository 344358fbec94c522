/** Bytes of a slab: those of some 200 events. */
const SLAB_BYTES = 64 * 1024;

let slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
let used = 0;

/**
 * A copy of the first `length` bytes, in a slab that events of the same moment share: they stay in memory for about as
 * long as each other. Copies for a short time must not come here. And a copy for long must not come from Node's own
 * pool: either way, a few bytes would keep a whole slab in memory.
 */
export function keptBytes(bytes: Uint8Array, length = bytes.length): Uint8Array {
  const kept = bytes.subarray(0, length);
  if (length > SLAB_BYTES / 4) return Uint8Array.from(kept);
  if (used + length > SLAB_BYTES) {
    slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
    used = 0;
  }
  const start = used;
  slab.set(kept, start);
  used += length;
  return slab.subarray(start, used);
}

/** A copy of some bytes. Throws RangeError once `size` bytes are used up. */
export type Copy = (bytes: Uint8Array) => Uint8Array;

/** Copies that are of use for about as long as each other, in memory of `size` bytes that they share. */
export function copiesIn(size: number): Copy {
  const shared = Buffer.allocUnsafeSlow(size);
  let end = 0;
  return (bytes) => {
    const start = end;
    end += bytes.length;
    shared.set(bytes, start);
    return shared.subarray(start, end);
  };
}
