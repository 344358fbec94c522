/** Bytes of a slab: those of some 200 events. */
const SLAB = 64 * 1024;

let slab = Buffer.allocUnsafeSlow(SLAB);
let used = 0;

/**
 * A copy of the first `length` bytes, beside those of other events alone. In Node's own pool an event would keep
 * thousands of bytes of short-lived buffers in memory. Slabs go in order, as the events do.
 */
export function keptBytes(bytes: Uint8Array, length = bytes.length): Uint8Array {
  const kept = bytes.subarray(0, length);
  if (length > SLAB / 4) return Uint8Array.from(kept);
  if (used + length > SLAB) {
    slab = Buffer.allocUnsafeSlow(SLAB);
    used = 0;
  }
  const start = used;
  slab.set(kept, start);
  used += length;
  return slab.subarray(start, used);
}
