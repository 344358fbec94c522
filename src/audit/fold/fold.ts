import { Worker } from 'node:worker_threads';
import type { PlantEvent } from '../../domain/events.ts';
import type { PlantKey } from '../../domain/plant.ts';
import { type LoggedEvent, plantEventOf } from '../../log/event/event.ts';
import type { OwnedRow } from '../../log/store.ts';
import type { Failure } from '../checks/check.ts';
import { type Cell, type FoldReply, type FoldRequest, LIST_ROWS, type Misfit, ROW_CELLS } from './messages.ts';

type Answer = Exclude<FoldReply, { error: Error }>;

/** An event of a plant, in its place. */
interface Folded extends Pick<LoggedEvent, 'position' | 'time'> {
  readonly event: PlantEvent;
}

/** What a fold does beside folding. */
export interface FoldOptions {
  /** Whether it looks at idempotency keys too, so that `misfit` tells of each event that no decider can have written there. */
  readonly asksDecisions?: boolean;
}

/**
 * The fold of any number of events in bounded memory: what does not fit goes to a temporary file. It has a thread of its own,
 * so that the work neither holds up the event loop nor waits for the other core. Calls are not to overlap.
 */
export class Fold {
  readonly #worker = new Worker(new URL('./thread.ts', import.meta.url));
  readonly #waiting: PromiseWithResolvers<Answer>[] = [];
  readonly #asksDecisions: boolean;
  /** The events that are on their way: one batch, while the caller gets the next. */
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

  /** Position of the last event that was taken; 0 before the first. */
  get position(): number {
    return this.#position;
  }

  /** Takes the next events. Resolves when it can take more. */
  async apply(events: readonly LoggedEvent[]): Promise<void> {
    await this.#applied;
    this.#position = events.at(-1)?.position ?? this.#position;
    const folded = events.flatMap((logged) => {
      const event = plantEventOf(logged);
      return event === undefined ? [] : [{ position: logged.position, time: logged.time, event }];
    });
    this.#applied = this.#ask({ do: 'apply', cells: this.#cellsOf(folded) }).then(({ misfit }) => {
      if (misfit !== undefined) this.#misfit ??= failureAt(folded[misfit.index]!, misfit.why);
    });
    // Heard of by the next call.
    this.#applied.catch(() => {});
  }

  /** The first event so far that does not fit what went before it: the fold goes on all the same. */
  async misfit(): Promise<Failure | undefined> {
    await this.#applied;
    return this.#misfit;
  }

  /** The plants that there are after all events, in ascending owner (by the bytes of its UTF-8) and id. */
  async *rows(): AsyncGenerator<OwnedRow[]> {
    await this.#applied;
    for (let after: PlantKey | undefined; ; ) {
      const rows = rowsOf((await this.#ask({ do: 'list', after })).cells);
      if (rows.length > 0) yield rows;
      if (rows.length < LIST_ROWS) return;
      after = ownedKey(rows.at(-1)!);
    }
  }

  /** Ends the thread and drops all that it holds. */
  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #cellsOf(events: readonly Folded[]): Cell[] {
    const cells: Cell[] = [];
    for (const { event, time } of events) {
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

function failureAt({ position, event: { owner, plantId } }: Folded, why: Misfit): Failure {
  const plant = `plant ${plantId} of ${JSON.stringify(owner)}`;
  const message = {
    there: `${plant} is added, and was there already`,
    missing: `${plant} is deleted, and was not there`,
    key: `its idempotency key had an event of ${JSON.stringify(owner)} less than 24 hours before`,
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
