import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makePrivateFolder } from '../private-folder.ts';
import { EMPTY_ROOT } from '../tlog/hash.ts';

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
    this.#db.exec('PRAGMA synchronous = FULL');
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
