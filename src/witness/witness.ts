import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { counted } from '../domain/counted.ts';
import { makePrivateFolder } from '../files.ts';
import { type Checkpoint, readCheckpoint } from '../tlog/checkpoint.ts';
import { EMPTY_ROOT, formatHash, sameHash } from '../tlog/hash.ts';
import { formatSignature, openNote, type Signer } from '../tlog/note.ts';
import { checkTree } from '../tlog/proof.ts';
import type { VerifierKey } from '../tlog/verifier-key.ts';
import { parseAddCheckpoint, SIZE_TYPE } from '../tlog/witness-request.ts';

/** The response to a request. Plain text unless `type` is set. */
export interface Reply {
  readonly status: number;
  readonly body: string;
  readonly type?: string;
}

/** Most lines about one log between two of its cosigned checkpoints. */
const MAX_LINES = 100;

type SizeAndRoot = Pick<Checkpoint, 'size' | 'root'>;

/**
 * A witness (c2sp.org/tlog-witness). Cosigns a checkpoint of a known log if the log proves that it extends the last
 * cosigned one. So no log can show two histories to clients that require the cosignature.
 */
export class Witness {
  readonly #signer: Signer;
  /** The keys of each log, by origin. */
  readonly #logs: ReadonlyMap<string, readonly VerifierKey[]>;
  readonly #records: Pick<Records, 'last' | 'replace'>;
  readonly #write: (line: string) => void;
  /** The lines that were written since the last cosigned checkpoint: of each log by its origin, and of faults by ''. */
  readonly #written = new Map<string, Set<string>>();

  /**
   * The name of each key is the log's origin, which also identifies its record. A log may have several keys. `write`
   * gets a line for each checkpoint that may be of another history, and for each fault.
   */
  constructor(
    signer: Signer,
    logs: readonly VerifierKey[],
    records: Pick<Records, 'last' | 'replace'>,
    write: (line: string) => void,
  ) {
    this.#signer = signer;
    this.#logs = Map.groupBy(logs, ({ name }) => name);
    this.#records = records;
    this.#write = write;
  }

  /** Writes a line about a fault that ended a request, such as a full disk: once until something is cosigned. */
  tell({ message }: Error): void {
    this.#writeOnce('', `error: a request failed: ${message}`);
  }

  /** Handles the body of an `add-checkpoint` request, with the checks in the order of the specification. */
  addCheckpoint(body: string): Reply {
    const request = attempt(() => {
      const { checkpoint: note, ...rest } = parseAddCheckpoint(body);
      return { ...rest, ...readCheckpoint(note), note };
    });
    if (request instanceof Error) return refusal(400, request);
    const { older, proof, note, origin, size, root } = request;
    const keys = this.#logs.get(origin);
    if (keys === undefined)
      return { status: 404, body: 'this witness does not know the log; ask its operator to add the vkey of the log\n' };
    const opened = attempt(() => openNote(note, keys));
    if (opened instanceof Error) return refusal(403, opened);
    if (older > size) return { status: 400, body: 'the old size is larger than the checkpoint\n' };
    const last = this.#records.last(origin);
    if (older !== last.size) return { status: 409, type: SIZE_TYPE, body: `${last.size}\n` };
    const inconsistent = attempt(() => checkTree(proof, size, root, older, last.root));
    if (inconsistent instanceof Error) {
      this.#tellRefused(origin, last, { size, root });
      return refusal(422, inconsistent);
    }
    const cosignature = formatSignature(this.#signer.sign(opened.text));
    const cosigned = `${opened.text}\n${opened.verified.map(formatSignature).join('')}${cosignature}`;
    if (this.#records.replace(origin, last, { size, root, note: cosigned })) {
      for (const about of ['', origin]) this.#written.delete(about);
      return { status: 200, body: cosignature };
    }
    // Another process replaced the record meanwhile: start again, because only recorded cosignatures may be returned.
    return this.addCheckpoint(body);
  }

  /** The last cosigned checkpoint of the log whose origin matches, for monitors; undefined if there is none. */
  checkpoint(isWanted: (origin: string) => boolean): string | undefined {
    const origin = [...this.#logs.keys()].find(isWanted);
    return origin === undefined ? undefined : this.#records.last(origin).note || undefined;
  }

  /** Writes a line for a checkpoint that its log signed and did not prove to extend the cosigned one. */
  #tellRefused(origin: string, cosigned: SizeAndRoot, { size, root }: SizeAndRoot): void {
    // Every log extends the empty one, and each checkpoint itself: then only the proof was wrong.
    if (cosigned.size === 0 || sameHash(root, cosigned.root)) return;
    const shown = formatHash(root);
    const known = `${counted(cosigned.size, 'event')} (root ${formatHash(cosigned.root)})`;
    this.#writeOnce(
      origin,
      size === cosigned.size
        ? `error: the log ${origin} has signed two checkpoints of ${known}: the other has the root ${shown}`
        : `error: the log ${origin} did not prove that its checkpoint of ${counted(size, 'event')} (root ${shown}) extends the cosigned one of ${known}`,
    );
  }

  /** Anybody can send a checkpoint again: a line is written once, and only so many are, until the next is cosigned. */
  #writeOnce(about: string, line: string): void {
    const written = this.#written.get(about) ?? new Set();
    this.#written.set(about, written);
    if (written.has(line) || written.size === MAX_LINES) return;
    written.add(line);
    this.#write(line);
  }
}

function attempt<T>(step: () => T): T | Error {
  try {
    return step();
  } catch (error) {
    return error as Error;
  }
}

const refusal = (status: number, { message }: Error): Reply => ({ status, body: `${message}\n` });

/** The last checkpoint of a log that the witness cosigned. */
export interface Cosigned {
  /** 0, with an empty note, if there is none. */
  readonly size: number;
  readonly root: Uint8Array;
  /** The note with the signatures of the log and of the witness. */
  readonly note: string;
}

/** File name of the records in their folder. */
export const RECORDS_FILE = 'witness.sqlite';

/** The last cosigned checkpoint of each log. A record is on disk before its cosignature is returned. */
export class Records {
  readonly #db: DatabaseSync;

  /** Opens the records in a folder, and creates what is missing. `origins` names the logs. */
  constructor(folder: string, origins: readonly string[]) {
    makePrivateFolder(folder);
    this.#db = new DatabaseSync(join(folder, RECORDS_FILE), { timeout: 1_000 });
    // A commit is the removal of the journal. EXTRA alone syncs the folder, so that a power cut does not undo it.
    this.#db.exec('PRAGMA synchronous = EXTRA');
    this.#db.exec(
      'CREATE TABLE IF NOT EXISTS logs (origin TEXT PRIMARY KEY, size INTEGER, root BLOB, note TEXT) STRICT',
    );
    const add = this.#db.prepare("INSERT OR IGNORE INTO logs VALUES (?, 0, ?, '')");
    for (const origin of origins) add.run(origin, EMPTY_ROOT);
  }

  /** The last cosigned checkpoint of a log. */
  last(origin: string): Cosigned {
    return this.#db.prepare('SELECT size, root, note FROM logs WHERE origin = ?').get(origin) as unknown as Cosigned;
  }

  /** Replaces a record atomically. Does nothing and returns false if `last` is no longer the last record. */
  replace(origin: string, last: Cosigned, { size, root, note }: Cosigned): boolean {
    const update = this.#db.prepare('UPDATE logs SET size = ?, root = ?, note = ? WHERE origin = ? AND size = ?');
    return update.run(size, root, note, origin, last.size).changes === 1;
  }

  close(): void {
    this.#db.close();
  }
}
