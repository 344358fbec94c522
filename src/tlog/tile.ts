import { foldInPlace, HASH_SIZE } from './hash.ts';
import type { HashReader, Node } from './tree.ts';

/** Hashes that a full tile has: the tile is a subtree of height 8 (c2sp.org/tlog-tiles, "Merkle Tree"). */
export const TILE_WIDTH = 256;
const TILE_HEIGHT = 8;

/** Highest level that a tile's path can name. */
const MAX_LEVEL = 63;

/** A tile: `width` hashes, from `index` times 256 on, of those of its level. Less than 256 make a partial tile. */
export interface Tile {
  readonly level: number;
  readonly index: number;
  readonly width: number;
}

/** Reads tiles. */
export interface TileReader {
  /** The hashes of a tile, one after the other. Rejects unless it has all of them. */
  readTile(tile: Tile): Promise<Uint8Array>;
}

/** How many records each hash of a tile of a level stands for. */
export const recordsPerHash = (level: number): number => TILE_WIDTH ** level;

/** How many records a tree needs to have this tile. */
export const sizeFor = ({ level, index, width }: Tile): number => (index * TILE_WIDTH + width) * recordsPerHash(level);

/** How wide the tile of this level and index is in a tree of a size; 0 where the tree has none there. */
export const widthAt = (size: number, level: number, index: number): number =>
  Math.max(0, Math.min(TILE_WIDTH, Math.floor(size / recordsPerHash(level)) - index * TILE_WIDTH));

/** The path of a tile, without the prefix of the log: `tile/<L>/<N>[.p/<W>]`. */
export const tilePath = ({ level, index, width }: Tile): string => `tile/${level}/${indexPath(index, width)}`;

/** The path of the entry bundle of a width, without the prefix of the log: `tile/entries/<N>[.p/<W>]`. */
export const entriesPath = (index: number, width: number): string => `tile/entries/${indexPath(index, width)}`;

/** `<N>[.p/<W>]`: path elements of three digits, all but the last of which begin with an x. */
function indexPath(index: number, width: number): string {
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g)!;
  const last = groups.pop()!;
  return groups.map((group) => `x${group}/`).join('') + last + (width === TILE_WIDTH ? '' : `.p/${width}`);
}

const INDEX = /^((?:x\d{3}\/)*\d{3})(?:\.p\/([1-9]\d{0,2}))?$/;

/** The index and width that `<N>[.p/<W>]` names; undefined for what is not exactly the path of some tile. */
export function parseIndexPath(path: string): Omit<Tile, 'level'> | undefined {
  const [, elements, partial] = INDEX.exec(path) ?? [];
  if (elements === undefined) return undefined;
  const index = Number(elements.replaceAll(/[x/]/g, ''));
  const width = partial === undefined ? TILE_WIDTH : Number(partial);
  if (partial !== undefined && width >= TILE_WIDTH) return undefined;
  return Number.isSafeInteger(index) && indexPath(index, width) === path ? { index, width } : undefined;
}

/** The level that `<L>` names; undefined for what is none. */
export function parseLevel(text: string): number | undefined {
  const level = /^(0|[1-9]\d?)$/.test(text) ? Number(text) : Number.NaN;
  return level <= MAX_LEVEL ? level : undefined;
}

/** The hash of the full subtree over `count` hashes of a tile, a power of two of them, from the one at `at` on. */
export const subtreeHash = (hashes: Uint8Array, at: number, count: number): Uint8Array =>
  foldInPlace(Buffer.from(hashes.subarray(at * HASH_SIZE, (at + count) * HASH_SIZE)));

/** Reads the hashes of nodes out of the tiles that a tree of a size has. */
export class TileHashReader implements HashReader {
  readonly #size: number;
  readonly #tiles: TileReader;

  /** The tree's size decides how wide its last tiles are. */
  constructor(size: number, tiles: TileReader) {
    this.#size = size;
    this.#tiles = tiles;
  }

  async readHashes(nodes: readonly Node[]): Promise<Uint8Array[]> {
    const read = new Map<string, Promise<Uint8Array>>();
    const reading = nodes.map(async (node) => {
      const level = Math.floor(node.level / TILE_HEIGHT);
      const count = 2 ** (node.level % TILE_HEIGHT);
      const first = node.index * count;
      const index = Math.floor(first / TILE_WIDTH);
      const tile = { level, index, width: widthAt(this.#size, level, index) };
      const path = tilePath(tile);
      const known = read.get(path) ?? this.#tiles.readTile(tile);
      read.set(path, known);
      return subtreeHash(await known, first % TILE_WIDTH, count);
    });
    return Promise.all(reading);
  }
}
