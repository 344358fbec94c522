import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { PlantEvent } from '../../domain/events.ts';
import { PLANT_FIELDS, plantOfTexts, textsOf, withKey } from '../../domain/plant.ts';
import { naming } from '../../files.ts';
import { type LoggedEvent, plantEventOf } from '../../log/event/event.ts';
import type { OwnedRow } from '../../log/store.ts';
import { yieldTurn } from '../../time/host.ts';
import type { Failure } from '../checks/check.ts';

/** Page cache in KiB. The rest goes to an unnamed file of SQLite, which never outlives the process. */
const CACHE_KIB = 64 * 1024;
/** What an error says of that file, whose disk is mostly not the store's: the folders in which SQLite makes it. */
const FILE = 'the temporary file of an audit, in SQLITE_TMPDIR, TMPDIR, /var/tmp or /tmp,';
/** Rows of one read; fewer mean that they are the last. */
const READ_ROWS = 2_000;

/** The keys of plants after `after`, up to `last`. */
interface KeyRange {
  readonly after?: { readonly owner: string; readonly id: bigint | number } | undefined;
  readonly last?: { readonly owner: string | Uint8Array; readonly id: bigint } | undefined;
}

/** Below every key, and above: in SQLite's order, all integers come after -Infinity, and all texts before a blob. */
const BELOW = { owner: '', id: Number.NEGATIVE_INFINITY };
const ABOVE = { owner: new Uint8Array(), id: 0n };

const TABLES = `
  PRAGMA cache_size = -${CACHE_KIB}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
  CREATE TABLE plants (owner TEXT, id INTEGER, ${PLANT_FIELDS.map(({ name }) => `${name} TEXT`).join()},
    PRIMARY KEY (owner, id)) STRICT, WITHOUT ROWID;
  CREATE TABLE keys (owner TEXT, key TEXT, time INTEGER, PRIMARY KEY (owner, key)) STRICT, WITHOUT ROWID;
  BEGIN`;

/** Milliseconds after which 1.0.0 let an idempotency key be used again. */
const KEY_LIFETIME = 24 * 60 * 60 * 1_000;

type Cells = [owner: string, id: bigint, ...texts: (string | null)[]];

/** The fold of any number of events in bounded memory, and a temporary file that goes when it is disposed of. */
export class Fold implements Disposable {
  readonly #db = new DatabaseSync('');
  readonly #asksDecisions: boolean;
  readonly #shown: (events: readonly LoggedEvent[]) => readonly LoggedEvent[];
  readonly #add: StatementSync;
  readonly #put: StatementSync;
  readonly #remove: StatementSync;
  readonly #use: StatementSync;
  readonly #erase: readonly StatementSync[];
  readonly #rows: StatementSync;
  #position = 0;
  #misfit: Failure | undefined;

  /**
   * `asksDecisions`: whether it tracks idempotency keys too, so that `misfit` finds every event that the decider would
   * have refused. `shown`: what to fold in place of the events that were read.
   */
  constructor({ asksDecisions = false, shown = (events: readonly LoggedEvent[]) => events } = {}) {
    this.#asksDecisions = asksDecisions;
    this.#shown = shown;
    const db = this.#db;
    db.exec(TABLES);
    const parameters = ['?', '?', ...PLANT_FIELDS.map(() => '?')].join();
    this.#add = db.prepare(`INSERT OR IGNORE INTO plants VALUES (${parameters})`);
    this.#put = db.prepare(`INSERT OR REPLACE INTO plants VALUES (${parameters})`);
    this.#remove = db.prepare('DELETE FROM plants WHERE owner = ? AND id = ?');
    this.#use = db.prepare(
      `INSERT INTO keys VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET time = excluded.time WHERE excluded.time - time >= ${KEY_LIFETIME}`,
    );
    this.#erase = ['plants', 'keys'].map((table) => db.prepare(`DELETE FROM ${table} WHERE owner = ?`));
    this.#rows = db.prepare(
      'SELECT * FROM plants WHERE (owner, id) > (?, ?) AND (owner, id) <= (?, ?) ORDER BY owner, id LIMIT ?',
    );
    this.#rows.setReadBigInts(true);
    this.#rows.setReturnArrays(true);
  }

  /** Position of the last event taken; 0 before the first. */
  get position(): number {
    return this.#position;
  }

  /** The first event so far that was not allowed on the state before it. The fold continues after it. */
  get misfit(): Failure | undefined {
    return this.#misfit;
  }

  /** Takes the next events, in a turn of the event loop of their own. Calls must not overlap. */
  async apply(events: readonly LoggedEvent[]): Promise<void> {
    await yieldTurn();
    naming(FILE, () => {
      for (const event of this.#shown(events)) this.#apply(event);
    });
    this.#position = events.at(-1)?.position ?? this.#position;
  }

  /** The plants after all events, in ascending order of owner (by UTF-8 bytes) and id. By default all of them. */
  async *rows({ after = BELOW, last = ABOVE }: KeyRange = {}): AsyncGenerator<OwnedRow[], void, void> {
    for (let { owner, id } = after; ; await yieldTurn()) {
      const found = naming(FILE, () => this.#rows.all(owner, id, last.owner, last.id, READ_ROWS)) as unknown as Cells[];
      if (found.length > 0)
        yield found.map((cells) => withKey({ owner: cells[0], id: cells[1] }, plantOfTexts(cells, 2)));
      if (found.length < READ_ROWS) return;
      [owner, id] = found.at(-1)!;
    }
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }

  #apply(logged: LoggedEvent): void {
    // Once an erasure is complete, no event of the owner from before has its content.
    if (logged.erases !== undefined) for (const erase of this.#erase) erase.run(logged.erases.owner);
    const event = plantEventOf(logged);
    if (event === undefined) return;
    const why = this.#applyPlant(event) ?? this.#applyKey(event, logged.time);
    if (why !== undefined) this.#misfit ??= { position: logged.position, message: why };
  }

  #applyPlant(event: PlantEvent): string | undefined {
    const { owner, plantId } = event;
    const plant = () => `plant ${plantId} of ${JSON.stringify(owner)}`;
    if (event.type === 'PlantDeleted')
      return this.#remove.run(owner, plantId).changes === 0 ? `${plant()} is deleted, but did not exist` : undefined;
    const row = [owner, plantId, ...textsOf(event)];
    if (this.#add.run(...row).changes === 1) return undefined;
    this.#put.run(...row);
    return `${plant()} is added, but existed already`;
  }

  #applyKey({ owner, idempotencyKey: key }: PlantEvent, time: number): string | undefined {
    if (!this.#asksDecisions || key === undefined || this.#use.run(owner, key, time).changes === 1) return undefined;
    return `its idempotency key was used by another event of ${JSON.stringify(owner)} less than 24 hours earlier`;
  }
}
