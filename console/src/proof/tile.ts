/** Hashes of a full tile, and entries of a full bundle (c2sp.org/tlog-tiles). */
export const TILE_WIDTH = 256;

/** A tile: `width` hashes, from `index` times 256 on, of those of its level. */
export interface Tile {
  readonly level: number;
  readonly index: number;
  readonly width: number;
}

/** How many hashes a tree of a size has at a level: each is of a full subtree of 256^level records. */
export const hashesAt = (size: number, level: number): number => Math.floor(size / TILE_WIDTH ** level);

/** The width of a tile in a tree of a size; 0 if the tree has no such tile. */
export const widthAt = (size: number, level: number, index: number): number =>
  Math.max(0, Math.min(TILE_WIDTH, hashesAt(size, level) - index * TILE_WIDTH));

/** The path of a tile below the prefix of its log. */
export const tilePath = ({ level, index, width }: Tile): string => `tile/${level}/${indexPath(index, width)}`;

/** The path of an entry bundle below the prefix of its log. */
export const entriesPath = (index: number, width: number): string => `tile/entries/${indexPath(index, width)}`;

function indexPath(index: number, width: number): string {
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g)!;
  const path = groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join('/');
  return width === TILE_WIDTH ? path : `${path}.p/${width}`;
}
