import { HASH_SIZE, recordHash } from '../../src/tlog/hash.ts';
import { subtreeHash, TILE_WIDTH, type Tile, type TileReader } from '../../src/tlog/tile.ts';
import { Frontier } from '../../src/tlog/tree.ts';

/** A tree of records in memory, readable as tiles. */
export class MemoryTree implements TileReader {
  readonly #levels: Uint8Array[][] = [[]];
  readonly #frontier = new Frontier();

  constructor(records: readonly Uint8Array[]) {
    for (const record of records) {
      const hash = recordHash(record);
      this.#frontier.add(hash);
      this.#add(0, hash);
    }
  }

  /** Root of the tree of all records. */
  get root(): Uint8Array {
    return this.#frontier.root;
  }

  async readTile({ level, index, width }: Tile): Promise<Uint8Array> {
    const hashes = (this.#levels[level] ?? []).slice(index * TILE_WIDTH, index * TILE_WIDTH + width);
    if (width < 1 || hashes.length < width) throw new Error(`no tile ${level}/${index} of width ${width}`);
    return Buffer.concat(hashes, width * HASH_SIZE);
  }

  #add(level: number, hash: Uint8Array): void {
    this.#levels[level] ??= [];
    const hashes = this.#levels[level];
    hashes.push(hash);
    if (hashes.length % TILE_WIDTH > 0) return;
    this.#add(level + 1, subtreeHash(Buffer.concat(hashes.slice(-TILE_WIDTH)), 0, TILE_WIDTH));
  }
}
