import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { EMPTY_ROOT } from '../tlog/hash.ts';

/** The last checkpoint of a log that the witness cosigned: all that it has to know of the log. */
export interface Cosigned {
  /** 0 with an empty note: none was. */
  readonly size: number;
  readonly root: Uint8Array;
  /** The signed note, with the signature of the log and the witness's. */
  readonly note: string;
}

/** What a witness has cosigned, a line for each log, on disk before anybody hears of it. */
export class Records {
  readonly #db: DatabaseSync;

  /** Opens the records of logs, by their origins, in a folder; what is missing is made. */
  constructor(folder: string, origins: readonly string[]) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#db = new DatabaseSync(join(folder, 'witness.sqlite'), { timeout: 1_000 });
    this.#db.exec('PRAGMA synchronous = FULL');
    this.#db.exec(
      'CREATE TABLE IF NOT EXISTS logs (origin TEXT PRIMARY KEY, size INTEGER, root BLOB, note TEXT) STRICT',
    );
    const add = this.#db.prepare("INSERT OR IGNORE INTO logs VALUES (?, 0, ?, '')");
    for (const origin of origins) add.run(origin, EMPTY_ROOT);
  }

  /** What was last cosigned of a log. */
  last(origin: string): Cosigned {
    return this.#db.prepare('SELECT size, root, note FROM logs WHERE origin = ?').get(origin) as unknown as Cosigned;
  }

  /** Takes the place of a record, in one atomic step. False, with nothing done, when that is not the last one any more. */
  replace(origin: string, last: Cosigned, { size, root, note }: Cosigned): boolean {
    const update = this.#db.prepare('UPDATE logs SET size = ?, root = ?, note = ? WHERE origin = ? AND size = ?');
    return update.run(size, root, note, origin, last.size).changes === 1;
  }

  close(): void {
    this.#db.close();
  }
}
