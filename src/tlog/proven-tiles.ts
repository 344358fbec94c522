import { HASH_SIZE, sameHash } from './hash.ts';
import { ProofError } from './proof.ts';
import { subtreeHash, TILE_WIDTH, type Tile, type TileReader, tilePath, widthAt } from './tile.ts';
import { treeHash } from './tree.ts';

/** Most full tiles in memory. Those above the lowest level are few, and are read again and again. */
const KEPT = 64;

/**
 * The tiles of a tree, from a source that is not trusted. Each is proved to be under the root: the partial tiles on the
 * right edge make the root, and each full tile makes its hash in the tile above it.
 */
export class ProvenTiles implements TileReader {
  readonly #source: TileReader;
  readonly #edge: TreeEdge;
  readonly #kept = new Map<string, Promise<Uint8Array>>();

  private constructor(source: TileReader, edge: TreeEdge) {
    this.#source = source;
    this.#edge = edge;
  }

  /** The tree of a size and root. Rejects with ProofError if the right edge of the source does not make the root. */
  static async open(size: number, root: Uint8Array, source: TileReader): Promise<ProvenTiles> {
    const edge = await TreeEdge.read(size, { readTile: (tile) => readWhole(source, tile) });
    if (!sameHash(await treeHash(size, edge), root))
      throw new ProofError('the tiles do not match the root of the checkpoint: one of them belongs to another history');
    return new ProvenTiles(source, edge);
  }

  /** A tile in the width that it has in this tree. Rejects with ProofError if it is not that of this tree. */
  async readTile({ level, index }: Tile): Promise<Uint8Array> {
    const tile = { level, index, width: widthAt(this.#edge.size, level, index) };
    if (tile.width < TILE_WIDTH) return this.#edge.readTile(tile);
    const path = tilePath(tile);
    const kept = this.#kept.get(path) ?? this.#prove(tile);
    // The one that was used last is the last to go.
    this.#kept.delete(path);
    this.#kept.set(path, kept);
    if (this.#kept.size > KEPT) this.#kept.delete(this.#kept.keys().next().value!);
    kept.catch(() => this.#kept.delete(path));
    return kept;
  }

  /** The hash of a full subtree of 256^level records, by its index. Rejects with ProofError. */
  async hash(level: number, index: number): Promise<Uint8Array> {
    const at = index % TILE_WIDTH;
    const tile = await this.readTile({ level, index: (index - at) / TILE_WIDTH, width: TILE_WIDTH });
    return tile.subarray(at * HASH_SIZE, (at + 1) * HASH_SIZE);
  }

  async #prove(tile: Tile): Promise<Uint8Array> {
    const [hashes, above] = await Promise.all([readWhole(this.#source, tile), this.hash(tile.level + 1, tile.index)]);
    if (!sameHash(subtreeHash(hashes, 0, TILE_WIDTH), above))
      throw new ProofError(`the tile ${tilePath(tile)} differs from the tree of the checkpoint`);
    return hashes;
  }
}

async function readWhole(source: TileReader, tile: Tile): Promise<Uint8Array> {
  const hashes = await source.readTile(tile);
  if (hashes.length === tile.width * HASH_SIZE) return hashes;
  throw new ProofError(`the tile ${tilePath(tile)} has ${hashes.length} bytes, not ${tile.width * HASH_SIZE}`);
}

/**
 * The right edge of the tree of one size: the last tile of each level, where that is a partial one. The root follows
 * from the edge alone, so whoever trusts the root can trust the edge.
 */
class TreeEdge implements TileReader {
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
