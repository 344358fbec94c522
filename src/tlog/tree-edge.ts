import { TILE_WIDTH, type Tile, type TileReader, tilePath, widthAt } from './tile.ts';

/**
 * The right edge of the tree of one size: the last tile of each level, where that is a partial one. The root follows
 * from the edge alone, so whoever trusts the root can trust the edge.
 */
export class TreeEdge implements TileReader {
  readonly size: number;
  /** By path. */
  readonly #tiles: ReadonlyMap<string, Uint8Array>;

  private constructor(size: number, tiles: ReadonlyMap<string, Uint8Array>) {
    this.size = size;
    this.#tiles = tiles;
  }

  /** Reads the edge of the tree of a size. Rejects if a hash is missing. */
  static async read(size: number, tiles: TileReader): Promise<TreeEdge> {
    const edge: Tile[] = [];
    for (let level = 0, count = size; count > 0; level++, count = Math.floor(count / TILE_WIDTH)) {
      const width = count % TILE_WIDTH;
      if (width > 0) edge.push({ level, index: Math.floor(count / TILE_WIDTH), width });
    }
    const read = edge.map(async (tile) => [tilePath(tile), await tiles.readTile(tile)] as const);
    return new TreeEdge(size, new Map(await Promise.all(read)));
  }

  /** The tile at a level and index, in the width that it has at this size; undefined if it is not on the edge. */
  at(level: number, index: number): Uint8Array | undefined {
    return this.#tiles.get(tilePath({ level, index, width: widthAt(this.size, level, index) }));
  }

  async readTile({ level, index }: Tile): Promise<Uint8Array> {
    const tile = this.at(level, index);
    if (tile === undefined) throw new RangeError(`tile ${level}/${index} is not on the edge of ${this.size} records`);
    return tile;
  }
}
