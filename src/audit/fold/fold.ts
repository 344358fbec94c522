import { Worker } from 'node:worker_threads';
import type { PlantEvent } from '../../domain/events.ts';
import type { PlantKey } from '../../domain/plant.ts';
import { type LoggedEvent, plantEventOf } from '../../log/event/event.ts';
import type { OwnedRow } from '../../log/store.ts';
import type { Failure } from '../checks/check.ts';
import { type Cell, type FoldReply, type FoldRequest, LIST_ROWS, type Misfit, ROW_CELLS } from './messages.ts';

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
  readonly #worker = new Worker(new URL('./thread.ts', import.meta.url));
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
        cells.push(folded.erased, null, null, null, null, null);
        continue;
      }
      const { event, time } = folded;
      const { owner, plantId, idempotencyKey } = event;
      const key = this.#asksDecisions ? (idempotencyKey ?? null) : null;
      if (event.type === 'PlantAdded') cells.push(owner, plantId, event.name, event.tag ?? null, key, time);
      else cells.push(owner, plantId, null, null, key, time);
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
    rows.push({
      owner: cells[at] as string,
      id: cells[at + 1] as bigint,
      name: cells[at + 2] as string,
      tag: (cells[at + 3] as string | null) ?? undefined,
    });
  return rows;
}
