import { viewOf } from './bytes.ts';
import { foldInPlace, HASH_SIZE } from './hash.ts';

/** Height of a full tile, which is a subtree (c2sp.org/tlog-tiles, "Merkle Tree"). */
export const TILE_HEIGHT = 8;

/** Hashes of a full tile. */
export const TILE_WIDTH = 256;

/** Highest level of a tile. */
const MAX_LEVEL = 63;

/** A tile: `width` hashes of its level, starting at `index` times 256. A width below 256 is a partial tile. */
export interface Tile {
  readonly level: number;
  readonly index: number;
  readonly width: number;
}

/** Reads tiles. */
export interface TileReader {
  /** The concatenated hashes of a tile. Rejects if any is missing. */
  readTile(tile: Tile): Promise<Uint8Array>;
}

/** Size of the smallest tree that has the tile. */
export const sizeFor = ({ level, index, width }: Tile): number => (index * TILE_WIDTH + width) * TILE_WIDTH ** level;

/** Width of the tile at a level and index in a tree of a size; 0 if the tree has no such tile. */
export const widthAt = (size: number, level: number, index: number): number =>
  Math.max(0, Math.min(TILE_WIDTH, Math.floor(size / TILE_WIDTH ** level) - index * TILE_WIDTH));

/** The path of a tile, without the prefix of the log: `tile/<L>/<N>[.p/<W>]`. */
export const tilePath = ({ level, index, width }: Tile): string => `tile/${level}/${indexPath(index, width)}`;

/** The path of an entry bundle, without the prefix of the log: `tile/entries/<N>[.p/<W>]`. */
export const entriesPath = (index: number, width: number): string => `tile/entries/${indexPath(index, width)}`;

/** `<N>[.p/<W>]`: path elements of three digits; all but the last begin with an x. */
function indexPath(index: number, width: number): string {
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g)!;
  const last = groups.pop()!;
  return groups.map((group) => `x${group}/`).join('') + last + (width === TILE_WIDTH ? '' : `.p/${width}`);
}

const INDEX = /^((?:x\d{3}\/)*\d{3})(?:\.p\/([1-9]\d{0,2}))?$/;

/** Parses `<N>[.p/<W>]` to index and width; undefined unless it is exactly the path of a tile. */
export function parseIndexPath(path: string): Omit<Tile, 'level'> | undefined {
  const [, elements, partial] = INDEX.exec(path) ?? [];
  if (elements === undefined) return undefined;
  const index = Number(elements.replaceAll(/[x/]/g, ''));
  const width = partial === undefined ? TILE_WIDTH : Number(partial);
  if (partial !== undefined && width >= TILE_WIDTH) return undefined;
  return Number.isSafeInteger(index) && indexPath(index, width) === path ? { index, width } : undefined;
}

/** Parses `<L>`; undefined if it is not a level. */
export function parseLevel(text: string): number | undefined {
  const level = /^(0|[1-9]\d?)$/.test(text) ? Number(text) : Number.NaN;
  return level <= MAX_LEVEL ? level : undefined;
}

/** The hash of the full subtree over `count` hashes of a tile, a power of two, starting at `at`. */
export const subtreeHash = (hashes: Uint8Array, at: number, count: number): Uint8Array =>
  foldInPlace(Uint8Array.from(hashes.subarray(at * HASH_SIZE, (at + count) * HASH_SIZE)));

/** Most bytes of an entry: its length has two bytes. */
export const MAX_ENTRY = 0xffff;

const LENGTH_BYTES = 2;

/** Encodes an entry bundle (c2sp.org/tlog-tiles, "Log entries"). Throws RangeError for an entry over MAX_ENTRY. */
export function encodeEntries(entries: readonly Uint8Array[]): Uint8Array {
  const bundle = new Uint8Array(entries.reduce((sum, { length }) => sum + LENGTH_BYTES + length, 0));
  const view = viewOf(bundle);
  let end = 0;
  for (const entry of entries) {
    if (entry.length > MAX_ENTRY) throw new RangeError(`an entry has ${entry.length} bytes, more than ${MAX_ENTRY}`);
    view.setUint16(end, entry.length);
    bundle.set(entry, end + LENGTH_BYTES);
    end += LENGTH_BYTES + entry.length;
  }
  return bundle;
}

/** The entries of a bundle. Throws if the bundle is truncated. */
export function decodeEntries(bundle: Uint8Array): Uint8Array[] {
  const view = viewOf(bundle);
  const entries: Uint8Array[] = [];
  for (let at = 0; at < bundle.length; ) {
    const start = at + LENGTH_BYTES;
    const end = start <= bundle.length ? start + view.getUint16(at) : Number.POSITIVE_INFINITY;
    if (end > bundle.length) throw new Error(`the entry bundle ends in the middle of entry ${entries.length}`);
    entries.push(bundle.subarray(start, end));
    at = end;
  }
  return entries;
}
