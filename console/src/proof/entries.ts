import type { Bytes } from './bytes.ts';
import { NotVerified } from './outcome.ts';

/** The entries of a bundle, each after its length in two big-endian bytes. Throws NotVerified for any other number of them. */
export function parseEntries(bundle: Bytes, count: number, path: string): Bytes[] {
  const entries: Bytes[] = [];
  for (let at = 0; at < bundle.length; ) {
    const length = (bundle[at]! << 8) | (bundle[at + 1] ?? 0);
    const end = at + 2 + length;
    if (end > bundle.length) throw new NotVerified(`The bundle ${path} ends in the middle of an entry.`);
    entries.push(bundle.slice(at + 2, end));
    at = end;
  }
  if (entries.length !== count)
    throw new NotVerified(`The bundle ${path} has ${entries.length} entries, not ${count}.`);
  return entries;
}
