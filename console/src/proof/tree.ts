import { type Bytes, equal } from './bytes.ts';
import { fold, HASH_SIZE, join } from './hash.ts';
import { NotVerified } from './outcome.ts';
import { hashesAt, TILE_WIDTH, type Tile, tilePath, widthAt } from './tile.ts';

/** Most tiles in memory. Those above the lowest level are few, and are needed again and again. */
const KEPT = 64;

/**
 * The tree that a checkpoint signs, read from untrusted tiles. Every hash that it returns is proved to be under the root:
 * the partial tiles on the right edge hash to the root, and each full tile hashes to its entry in the tile above it.
 */
export class Tree {
  readonly size: number;
  readonly #root: Bytes;
  readonly #read: (tile: Tile) => Promise<Bytes>;
  readonly #kept = new Map<string, Promise<readonly Bytes[]>>();
  #edge: Promise<ReadonlyMap<number, readonly Bytes[]>> | undefined;

  constructor(size: number, root: Bytes, read: (tile: Tile) => Promise<Bytes>) {
    this.size = size;
    this.#root = root;
    this.#read = read;
  }

  /** The hashes of a tile that the tree has. Rejects with NotVerified if they are not under the root. */
  async tile(level: number, index: number): Promise<readonly Bytes[]> {
    const width = widthAt(this.size, level, index);
    if (width < TILE_WIDTH) return (await this.edge()).get(level)!;
    const path = tilePath({ level, index, width });
    const kept = this.#kept.get(path) ?? this.#prove({ level, index, width });
    this.#kept.set(path, kept);
    if (this.#kept.size > KEPT) this.#kept.delete(this.#kept.keys().next().value!);
    return kept;
  }

  /** The root of the tree of the first `size` records: what every checkpoint of that size must have signed. */
  async rootAt(size: number): Promise<Bytes> {
    return rootOf(size, (level, index) => this.tile(level, index));
  }

  /** The partial tiles of the right edge by their levels. Rejects with NotVerified if they do not hash to the root. */
  edge(): Promise<ReadonlyMap<number, readonly Bytes[]>> {
    this.#edge ??= this.#proveEdge();
    return this.#edge;
  }

  async #proveEdge(): Promise<ReadonlyMap<number, readonly Bytes[]>> {
    const edge = new Map<number, readonly Bytes[]>();
    for (let level = 0; hashesAt(this.size, level) > 0; level++) {
      const width = hashesAt(this.size, level) % TILE_WIDTH;
      const index = Math.floor(hashesAt(this.size, level) / TILE_WIDTH);
      if (width > 0) edge.set(level, await this.#hashes({ level, index, width }));
    }
    const root = await rootOf(this.size, async (level) => edge.get(level)!);
    if (!equal(root, this.#root))
      throw new NotVerified(
        'The tiles from the service do not hash to the root of the checkpoint: the tiles or the checkpoint belong to another history.',
      );
    return edge;
  }

  async #prove(tile: Tile): Promise<readonly Bytes[]> {
    const { level, index } = tile;
    const [hashes, above] = await Promise.all([
      this.#hashes(tile),
      this.tile(level + 1, Math.floor(index / TILE_WIDTH)),
    ]);
    if (!equal(await fold(hashes), above[index % TILE_WIDTH]!))
      throw new NotVerified(`The tile ${tilePath(tile)} is not the one in the tree of the checkpoint.`);
    return hashes;
  }

  async #hashes(tile: Tile): Promise<readonly Bytes[]> {
    const bytes = await this.#read(tile);
    if (bytes.length !== tile.width * HASH_SIZE)
      throw new NotVerified(`The tile ${tilePath(tile)} has ${bytes.length} bytes, not ${tile.width * HASH_SIZE}.`);
    return Array.from({ length: tile.width }, (_, at) => bytes.slice(at * HASH_SIZE, (at + 1) * HASH_SIZE));
  }
}

/** The root of the first `size` records, from the tiles on the right edge of their tree. */
async function rootOf(size: number, tile: (level: number, index: number) => Promise<readonly Bytes[]>): Promise<Bytes> {
  const subtrees: Bytes[] = [];
  let levels = 0;
  while (hashesAt(size, levels) > 0) levels++;
  for (let level = levels - 1; level >= 0; level--) {
    const width = hashesAt(size, level) % TILE_WIDTH;
    if (width === 0) continue;
    const hashes = await tile(level, Math.floor(hashesAt(size, level) / TILE_WIDTH));
    let from = 0;
    for (let count = TILE_WIDTH / 2; count > 0; count /= 2)
      if ((width & count) !== 0) {
        subtrees.push(await fold(hashes.slice(from, from + count)));
        from += count;
      }
  }
  return join(subtrees);
}
