import { expect } from 'vitest';
import { parseCheckpoint } from '../../src/tlog/checkpoint.ts';
import { HASH_SIZE, recordHash, sameHash } from '../../src/tlog/hash.ts';
import { openNote, verifierOf } from '../../src/tlog/note.ts';
import { checkRecord, checkTree, proveTree } from '../../src/tlog/proof.ts';
import {
  decodeEntries,
  entriesPath,
  subtreeHash,
  TILE_WIDTH,
  type Tile,
  TileHashReader,
  type TileReader,
  tilePath,
  widthAt,
} from '../../src/tlog/tile.ts';
import { parseTlogProof } from '../../src/tlog/tlog-proof.ts';
import { treeHash } from '../../src/tlog/tree.ts';
import { parseVerifierKey } from '../../src/tlog/verifier-key.ts';

/** A checkpoint whose signature is verified. */
export interface Seen {
  readonly size: number;
  readonly root: Uint8Array;
}

/**
 * A client of a tiled log (c2sp.org/tlog-tiles) that trusts nothing. Every response must follow the specification
 * exactly, including headers, and every hash must follow from those below it. Requests immutable resources only once.
 */
export class TlogClient implements TileReader {
  readonly #prefix: string;
  readonly #vkey: string;
  readonly #kept = new Map<string, Promise<Buffer>>();

  /** `prefix` ends without a slash. */
  constructor(prefix: string, vkey: string) {
    this.#prefix = prefix;
    this.#vkey = vkey;
  }

  /** The current checkpoint. */
  async checkpoint(): Promise<Seen> {
    const { body, headers } = await this.#get('checkpoint');
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
    const [, seconds] = /^public, max-age=(\d+)$/.exec(headers.get('cache-control')!)!;
    expect(Number(seconds)).toBeLessThanOrEqual(10);
    const key = parseVerifierKey(this.#vkey);
    const { origin, size, root } = parseCheckpoint(openNote(body.toString(), [verifierOf(key)]).text);
    expect(origin).toBe(key.name);
    return { size, root };
  }

  async readTile(tile: Tile): Promise<Uint8Array> {
    const body = await this.#immutable(tilePath(tile));
    expect(body.length).toBe(tile.width * HASH_SIZE);
    return body;
  }

  /** The entries of a bundle. */
  async entries(index: number, width: number): Promise<Uint8Array[]> {
    const entries = decodeEntries(await this.#immutable(entriesPath(index, width)));
    expect(entries).toHaveLength(width);
    return entries;
  }

  /**
   * Reads the whole tree of a checkpoint, with entries and all tiles, and expects each tile to follow from those below.
   */
  async verify({ size, root }: Seen): Promise<Uint8Array[]> {
    const all: Uint8Array[] = [];
    for (let index = 0; index * TILE_WIDTH < size; index++)
      all.push(...(await this.entries(index, widthAt(size, 0, index))));
    let hashes = all.map(recordHash);
    for (let level = 0; hashes.length > 0; level++) {
      const above: Uint8Array[] = [];
      for (let index = 0; widthAt(size, level, index) > 0; index++) {
        const width = widthAt(size, level, index);
        const tile = await this.readTile({ level, index, width });
        const expected = Buffer.concat(hashes.slice(index * TILE_WIDTH, index * TILE_WIDTH + width));
        expect(sameHash(tile, expected), `tile ${level}/${index} of width ${width}`).toBe(true);
        if (width === TILE_WIDTH) above.push(subtreeHash(tile, 0, TILE_WIDTH));
      }
      hashes = above;
    }
    expect(sameHash(await treeHash(size, new TileHashReader(size, this)), root)).toBe(true);
    return all;
  }

  /** Expects the tiles to prove that the tree of a checkpoint extends that of an older one. */
  async expectConsistent(newer: Seen, older: Seen): Promise<void> {
    const proof = await proveTree(newer.size, older.size, new TileHashReader(newer.size, this));
    checkTree(proof, newer.size, newer.root, older.size, older.root);
  }

  /** Expects the log to prove that it has an entry at a position. */
  async expectProof(position: number, entry: Uint8Array): Promise<void> {
    const { body } = await this.#get(`proof/${position}`);
    const { index, hashes, checkpoint } = parseTlogProof(body.toString());
    expect(index).toBe(position - 1);
    const { text } = openNote(checkpoint, [verifierOf(parseVerifierKey(this.#vkey))]);
    const { size, root } = parseCheckpoint(text);
    checkRecord(hashes, size, root, index, recordHash(entry));
  }

  #immutable(path: string): Promise<Buffer> {
    const kept = this.#kept.get(path) ?? this.#getTile(path);
    this.#kept.set(path, kept);
    return kept;
  }

  async #getTile(path: string): Promise<Buffer> {
    const { body, headers } = await this.#get(path);
    expect(headers.get('content-type')).toBe('application/octet-stream');
    expect(headers.get('cache-control')).toBe(
      path.includes('.p/') ? 'public, max-age=5' : 'public, max-age=31536000, immutable',
    );
    return body;
  }

  async #get(path: string): Promise<{ body: Buffer; headers: Headers }> {
    const response = await fetch(`${this.#prefix}/${path}`);
    const body = Buffer.from(await response.arrayBuffer());
    expect(response.status, `${path}: ${body}`).toBe(200);
    return { body, headers: response.headers };
  }
}
