import { DatabaseSync } from 'node:sqlite';
import { type MessagePort, parentPort, Worker, workerData } from 'node:worker_threads';
import type { PlantEvent } from '../../domain/events.ts';
import { IDEMPOTENCY_TTL } from '../../domain/idempotency.ts';
import { PLANT_FIELDS, type PlantKey, plantOfTexts, textsOf, withKey } from '../../domain/plant.ts';
import { type LoggedEvent, plantEventOf } from '../../log/event/event.ts';
import type { OwnedRow } from '../../log/store.ts';
import type { Failure } from '../checks/check.ts';

/** In the workerData of the fold's thread, which runs this file, too. */
const THREAD = 'the thread of a fold';
/** Page cache of the thread in KiB. The rest goes to an unnamed file of SQLite, which never outlives the process. */
const CACHE = 64 * 1024;

/** A column of a row in a message between the threads: text, a number, or null if absent. */
type Cell = string | bigint | number | null;

/** Cells of one plant: owner, id, texts. */
const ROW_CELLS = 2 + PLANT_FIELDS.length;

/**
 * Cells of one event: owner, id, idempotency key (null if it has none or the fold tracks none), time, and the texts of
 * its plant, the first of which is null if the plant is deleted. All but the owner are null for an event that erases the
 * owner.
 */
const EVENT_CELLS = 4 + PLANT_FIELDS.length;
const NO_TEXTS: readonly null[] = PLANT_FIELDS.map(() => null);
const NO_EVENT: readonly null[] = Array.from({ length: EVENT_CELLS - 1 }, () => null);

/** Rows in one reply; fewer mean that they are the last. */
const LIST_ROWS = 2_000;

/** A request to the thread: apply events, or list the first rows after a key (undefined: from the start). */
type FoldRequest =
  | { readonly do: 'apply'; readonly cells: readonly Cell[] }
  | { readonly do: 'list'; readonly after: PlantKey | undefined };

/** Why an event was not allowed on the state before it. */
type Misfit = 'there' | 'missing' | 'key';

/**
 * The reply to each request, in order: for `list` the cells of rows, for `apply` the first event that was not allowed.
 */
type FoldReply =
  | { readonly cells: readonly Cell[]; readonly misfit?: { readonly index: number; readonly why: Misfit } | undefined }
  | { readonly error: Error };

type Answer = Exclude<FoldReply, { error: Error }>;

/** An event of a plant, with its position and time. */
interface FoldedPlant extends Pick<LoggedEvent, 'position' | 'time'> {
  readonly event: PlantEvent;
}

/** An OwnerErased event of a known owner. */
interface FoldedErasure {
  readonly erased: string;
}

type Folded = FoldedPlant | FoldedErasure;

/** Options of a fold. */
export interface FoldOptions {
  /**
   * Whether the fold tracks idempotency keys too, so that `misfit` finds every event that the decider would have
   * refused.
   */
  readonly asksDecisions?: boolean;
}

/** What checks ask of a fold. */
export type AskedFold = Pick<Fold, 'position' | 'apply' | 'misfit'> & { rows(): AsyncIterable<OwnedRow[]> };

/** Makes a fold. A simulation makes one that needs no thread. */
export type OpenFold = (options?: FoldOptions) => Pick<Fold, 'position' | 'apply' | 'misfit' | 'rows' | 'close'>;

/**
 * The fold of any number of events in bounded memory: the rest goes to a temporary file. It runs in its own thread, to
 * keep the event loop free and to use another core. Calls must not overlap.
 */
export class Fold {
  readonly #worker = new Worker(new URL(import.meta.url), { workerData: THREAD });
  readonly #waiting: PromiseWithResolvers<Answer>[] = [];
  readonly #asksDecisions: boolean;
  /** Pending batch: the thread applies it while the caller gets the next. */
  #applied: Promise<unknown> = Promise.resolve();
  #position = 0;
  #misfit: Failure | undefined;
  #ended: Error | undefined;

  constructor({ asksDecisions = false }: FoldOptions = {}) {
    this.#asksDecisions = asksDecisions;
    this.#worker.on('message', (reply: FoldReply) => {
      const { resolve, reject } = this.#waiting.shift()!;
      if ('cells' in reply) resolve(reply);
      else reject(reply.error);
    });
    this.#worker.on('error', (error) => this.#end(error));
    this.#worker.on('exit', () => this.#end(new Error('the fold is closed')));
  }

  /** Position of the last event taken; 0 before the first. */
  get position(): number {
    return this.#position;
  }

  /** Takes the next events. Resolves when it can take more. */
  async apply(events: readonly LoggedEvent[]): Promise<void> {
    await this.#applied;
    this.#position = events.at(-1)?.position ?? this.#position;
    const folded = events.flatMap((logged): Folded[] => {
      const { position, time, erases } = logged;
      // Once an erasure is complete, no event of the owner from before has its content.
      if (erases !== undefined) return [{ erased: erases.owner }];
      const event = plantEventOf(logged);
      return event === undefined ? [] : [{ position, time, event }];
    });
    this.#applied = this.#ask({ do: 'apply', cells: this.#cellsOf(folded) }).then(({ misfit }) => {
      if (misfit !== undefined) this.#misfit ??= failureAt(folded[misfit.index] as FoldedPlant, misfit.why);
    });
    // The next call rejects with it.
    this.#applied.catch(() => {});
  }

  /** The first event so far that was not allowed on the state before it. The fold continues after it. */
  async misfit(): Promise<Failure | undefined> {
    await this.#applied;
    return this.#misfit;
  }

  /** The plants after all events, in ascending order of owner (by UTF-8 bytes) and id. */
  async *rows(): AsyncGenerator<OwnedRow[], void, void> {
    await this.#applied;
    for (let after: PlantKey | undefined; ; ) {
      const rows = rowsOf((await this.#ask({ do: 'list', after })).cells);
      if (rows.length > 0) yield rows;
      if (rows.length < LIST_ROWS) return;
      after = ownedKey(rows.at(-1)!);
    }
  }

  /** Ends the thread and discards the fold. */
  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #cellsOf(events: readonly Folded[]): Cell[] {
    const cells: Cell[] = [];
    for (const folded of events) {
      if ('erased' in folded) {
        cells.push(folded.erased, ...NO_EVENT);
        continue;
      }
      const { event, time } = folded;
      const { owner, plantId, idempotencyKey } = event;
      const key = this.#asksDecisions ? (idempotencyKey ?? null) : null;
      cells.push(owner, plantId, key, time, ...(event.type === 'PlantAdded' ? textsOf(event) : NO_TEXTS));
    }
    return cells;
  }

  async #ask(request: FoldRequest): Promise<Answer> {
    const reply = Promise.withResolvers<Answer>();
    if (this.#ended !== undefined) throw this.#ended;
    this.#waiting.push(reply);
    this.#worker.postMessage(request);
    return reply.promise;
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

function failureAt({ position, event: { owner, plantId } }: FoldedPlant, why: Misfit): Failure {
  const plant = `plant ${plantId} of ${JSON.stringify(owner)}`;
  const message = {
    there: `${plant} is added, but existed already`,
    missing: `${plant} is deleted, but did not exist`,
    key: `its idempotency key was used by another event of ${JSON.stringify(owner)} less than 24 hours earlier`,
  }[why];
  return { position, message };
}

const ownedKey = ({ owner, id }: OwnedRow): PlantKey => ({ owner, id });

function rowsOf(cells: readonly Cell[]): OwnedRow[] {
  const rows: OwnedRow[] = [];
  for (let at = 0; at < cells.length; at += ROW_CELLS)
    rows.push(withKey({ owner: cells[at] as string, id: cells[at + 1] as bigint }, plantOfTexts(cells, at + 2)));
  return rows;
}

/** What the thread does: it keeps the fold in a temporary SQLite database. */
class FoldTables {
  readonly #db = new DatabaseSync('');
  readonly #add;
  readonly #put;
  readonly #remove;
  readonly #use;
  readonly #erasePlants;
  readonly #eraseKeys;
  readonly #first;
  readonly #next;

  constructor() {
    const db = this.#db;
    const parameters = Array.from({ length: ROW_CELLS }, () => '?').join();
    db.exec(`
      PRAGMA cache_size = -${CACHE}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
      CREATE TABLE plants (owner TEXT, id INTEGER, ${PLANT_FIELDS.map(({ name }) => `${name} TEXT`).join()},
        PRIMARY KEY (owner, id)) STRICT, WITHOUT ROWID;
      CREATE TABLE keys (owner TEXT, key TEXT, time INTEGER, PRIMARY KEY (owner, key)) STRICT, WITHOUT ROWID;
      BEGIN`);
    this.#add = db.prepare(`INSERT OR IGNORE INTO plants VALUES (${parameters})`);
    this.#put = db.prepare(`INSERT OR REPLACE INTO plants VALUES (${parameters})`);
    this.#remove = db.prepare('DELETE FROM plants WHERE owner = ? AND id = ?');
    this.#use = db.prepare(
      `INSERT INTO keys VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET time = excluded.time WHERE excluded.time - time >= ${IDEMPOTENCY_TTL}`,
    );
    this.#erasePlants = db.prepare('DELETE FROM plants WHERE owner = ?');
    this.#eraseKeys = db.prepare('DELETE FROM keys WHERE owner = ?');
    this.#first = db.prepare('SELECT * FROM plants ORDER BY owner, id LIMIT ?');
    this.#next = db.prepare('SELECT * FROM plants WHERE (owner, id) > (?, ?) ORDER BY owner, id LIMIT ?');
    for (const query of [this.#first, this.#next]) {
      query.setReadBigInts(true);
      query.setReturnArrays(true);
    }
  }

  answer(request: FoldRequest): FoldReply {
    try {
      if (request.do === 'list') return { cells: this.#list(request.after) };
      return { cells: [], misfit: this.#apply(request.cells) };
    } catch (error) {
      return { error: error as Error };
    }
  }

  /**
   * Applies all events: only a key's last event decides its row. Returns the first that was not allowed on the state
   * before it.
   */
  #apply(cells: readonly Cell[]): { index: number; why: Misfit } | undefined {
    let misfit: { index: number; why: Misfit } | undefined;
    for (let at = 0; at < cells.length; at += EVENT_CELLS) {
      const [owner, id, key, time] = [cells[at]!, cells[at + 1]!, cells[at + 2]!, cells[at + 3]!];
      if (id === null) {
        this.#erasePlants.run(owner);
        this.#eraseKeys.run(owner);
        continue;
      }
      const texts = cells.slice(at + 4, at + EVENT_CELLS);
      const why = this.#applyPlant(owner, id, texts) ?? (key === null ? undefined : this.#applyKey(owner, key, time));
      if (why !== undefined) misfit ??= { index: at / EVENT_CELLS, why };
    }
    return misfit;
  }

  #applyPlant(owner: Cell, id: Cell, texts: readonly Cell[]): Misfit | undefined {
    if (texts[0] === null) return this.#remove.run(owner, id).changes === 0 ? 'missing' : undefined;
    if (this.#add.run(owner, id, ...texts).changes === 1) return undefined;
    this.#put.run(owner, id, ...texts);
    return 'there';
  }

  #applyKey(owner: Cell, key: Cell, time: Cell): Misfit | undefined {
    return this.#use.run(owner, key, time).changes === 0 ? 'key' : undefined;
  }

  #list(after: PlantKey | undefined): Cell[] {
    const rows = after === undefined ? this.#first.all(LIST_ROWS) : this.#next.all(after.owner, after.id, LIST_ROWS);
    return (rows as unknown as Cell[][]).flat();
  }
}

function serve(port: MessagePort): void {
  const tables = new FoldTables();
  port.on('message', (request: FoldRequest) => port.postMessage(tables.answer(request)));
}

if (workerData === THREAD) serve(parentPort!);
