/** The array in slices of at most `size` items, in order. */
export function* slices<T>(array: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < array.length; start += size) yield array.slice(start, start + size);
}
