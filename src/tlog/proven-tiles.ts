import { HASH_SIZE, sameHash } from './hash.ts';
import { ProofError } from './proof.ts';
import { subtreeHash, TILE_WIDTH, type Tile, type TileReader, tilePath, widthAt } from './tile.ts';
import { treeHash } from './tree.ts';

/** Most full tiles in memory. Those above the lowest level are few, and are read again and again. */
const MAX_KEPT = 64;

/**
 * The tiles of a tree, from a source that is not trusted. Each is proved to be under the root: the partial tiles on the
 * right edge make the root, and each full tile makes its hash in the tile above it.
 */
export class ProvenTiles implements TileReader {
  readonly #size: number;
  readonly #source: TileReader;
  /** The partial tiles, by path. */
  readonly #edge: ReadonlyMap<string, Uint8Array>;
  readonly #kept = new Map<string, Promise<Uint8Array>>();

  private constructor(size: number, source: TileReader, edge: ReadonlyMap<string, Uint8Array>) {
    this.#size = size;
    this.#source = source;
    this.#edge = edge;
  }

  /** The tree of a size and root. Rejects with ProofError if the right edge of the source does not make the root. */
  static async open(size: number, root: Uint8Array, source: TileReader): Promise<ProvenTiles> {
    // The root follows from all hashes of the partial tiles, and from nothing else.
    const edge = new Map<string, Uint8Array>();
    const readTile = async (tile: Tile) => {
      const hashes = await readWhole(source, tile);
      edge.set(tilePath(tile), hashes);
      return hashes;
    };
    if (!sameHash(await treeHash(size, { readTile }), root))
      throw new ProofError('the tiles do not match the root of the checkpoint: one of them belongs to another history');
    return new ProvenTiles(size, source, edge);
  }

  /** A tile in the width that it has in this tree. Rejects with ProofError if it is not that of this tree. */
  async readTile({ level, index }: Tile): Promise<Uint8Array> {
    const tile = { level, index, width: widthAt(this.#size, level, index) };
    const path = tilePath(tile);
    if (tile.width < TILE_WIDTH) return this.#edge.get(path) ?? missing(path);
    const kept = this.#kept.get(path) ?? this.#prove(tile);
    // The one that was used last is the last to go.
    this.#kept.delete(path);
    this.#kept.set(path, kept);
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value!);
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

function missing(path: string): never {
  throw new RangeError(`${path} is not on the right edge of the tree`);
}
