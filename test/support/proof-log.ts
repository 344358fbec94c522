import { generateKeyPairSync } from 'node:crypto';
import { Memory, type TextStorage } from '../../console/src/proof/memory.ts';
import { type LogSource, textOf } from '../../console/src/proof/source.ts';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import { provenRecordBytes } from '../../src/log/event/record.ts';
import { formatCheckpoint } from '../../src/tlog/checkpoint.ts';
import { type Signer, signNote } from '../../src/tlog/note.ts';
import { proveRecord } from '../../src/tlog/proof.ts';
import { noteSigner } from '../../src/tlog/signer.ts';
import { encodeEntries, entriesPath, TILE_WIDTH, tilePath } from '../../src/tlog/tile.ts';
import { formatTlogProof } from '../../src/tlog/tlog-proof.ts';
import { treeHash } from '../../src/tlog/tree.ts';
import { formatVerifierKey } from '../../src/tlog/verifier-key.ts';
import { MemoryTree } from './memory-tree.ts';

/** The key of the logs of tests. */
export const { privateKey: LOG_KEY } = generateKeyPairSync('ed25519');
/** Their origin. */
export const ORIGIN = 'log.example/plants';
/** Their vkey. */
export const VKEY: string = formatVerifierKey(noteSigner(ORIGIN, LOG_KEY).key);

/** What becomes of an answer on its way, by its path below the log's prefix. */
export type Tamper = (path: string, bytes: Uint8Array) => Uint8Array;

/** A log in memory, made by the service's own code. */
export class ProofLog {
  readonly events: readonly LoggedEvent[];
  readonly #records: readonly Uint8Array[];
  readonly #tree: MemoryTree;
  readonly #cosigners: readonly Signer[];

  constructor(events: readonly LoggedEvent[], cosigners: readonly Signer[] = []) {
    this.events = events;
    this.#records = events.map((event) => Buffer.from(event.bytes));
    this.#tree = new MemoryTree(this.#records);
    this.#cosigners = cosigners;
  }

  /** The checkpoint of the first `size` events, signed, and cosigned. */
  async checkpoint(size: number): Promise<string> {
    const root = await treeHash(size, this.#tree);
    return signNote(formatCheckpoint({ origin: ORIGIN, size, root }), [
      noteSigner(ORIGIN, LOG_KEY),
      ...this.#cosigners,
    ]);
  }

  /** The receipt for an event, by a checkpoint of a size. */
  async receipt(size: number, position: number): Promise<Uint8Array<ArrayBuffer>> {
    const index = position - 1;
    const { proof: hashes } = await proveRecord(size, index, this.#tree);
    const extra = provenRecordBytes(this.events[index]!);
    return new Uint8Array(
      Buffer.from(formatTlogProof({ extra, index, hashes, checkpoint: await this.checkpoint(size) })),
    );
  }

  /** The log when it had `size` events. */
  source(size: number, tamper: Tamper = (_path, bytes) => bytes): LogSource {
    const give = (path: string, bytes: Uint8Array) => new Uint8Array(tamper(path, bytes));
    return {
      key: async () => textOf(give('key', Buffer.from(VKEY))),
      checkpoint: async () => textOf(give('checkpoint', Buffer.from(await this.checkpoint(size)))),
      readTile: async (tile) => give(tilePath(tile), await this.#tree.readTile(tile)),
      entries: async (index, width) => {
        const start = index * TILE_WIDTH;
        return give(entriesPath(index, width), encodeEntries(this.#records.slice(start, start + width)));
      },
    };
  }
}

/** A browser's memory, empty. */
export function emptyMemory(): Memory {
  const kept = new Map<string, string>();
  const storage: TextStorage = {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, text) => void kept.set(name, text),
  };
  return new Memory(storage);
}

/** The same bytes but for one bit. */
export function flipped(bytes: Uint8Array, bit: number): Uint8Array<ArrayBuffer> {
  const changed = new Uint8Array(bytes);
  changed[Math.floor(bit / 8) % bytes.length]! ^= 1 << (bit % 8);
  return changed;
}
