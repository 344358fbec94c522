import { Worker } from 'node:worker_threads';
import type { PlantKey } from '../domain/plant.ts';
import type { LoggedEvent } from '../log/event.ts';
import type { OwnedRow } from '../log/store.ts';
import { CELLS, type Cell, type FoldReply, type FoldRequest, LIST_ROWS } from './fold-messages.ts';

/**
 * The fold of any number of events in bounded memory: what does not fit goes to a temporary file. It has a thread of its own,
 * so that the work neither holds up the event loop nor waits for the other core. Calls are not to overlap.
 */
export class Fold {
  readonly #worker = new Worker(new URL('./fold-thread.ts', import.meta.url));
  readonly #waiting: PromiseWithResolvers<readonly Cell[]>[] = [];
  /** The events that are on their way: one batch, while the caller gets the next. */
  #applied: Promise<unknown> = Promise.resolve();
  #ended: Error | undefined;

  constructor() {
    this.#worker.on('message', (reply: FoldReply) => {
      const { resolve, reject } = this.#waiting.shift()!;
      if ('cells' in reply) resolve(reply.cells);
      else reject(reply.error);
    });
    this.#worker.on('error', (error) => this.#end(error));
    this.#worker.on('exit', () => this.#end(new Error('the fold is closed')));
  }

  /** Takes the next events. Resolves when it can take more. */
  async apply(events: readonly LoggedEvent[]): Promise<void> {
    await this.#applied;
    const cells: Cell[] = [];
    for (const { event } of events)
      if (event.type === 'PlantAdded') cells.push(event.owner, event.plantId, event.name, event.tag ?? null);
      else cells.push(event.owner, event.plantId, null, null);
    this.#applied = this.#ask({ do: 'apply', cells });
    // Heard of by the next call.
    this.#applied.catch(() => {});
  }

  /** The plants that there are after all events, in ascending owner (by the bytes of its UTF-8) and id. */
  async *rows(): AsyncGenerator<OwnedRow[]> {
    await this.#applied;
    for (let after: PlantKey | undefined; ; ) {
      const rows = rowsOf(await this.#ask({ do: 'list', after }));
      if (rows.length > 0) yield rows;
      if (rows.length < LIST_ROWS) return;
      after = keyOf(rows.at(-1)!);
    }
  }

  /** Ends the thread and drops all that it holds. */
  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  async #ask(request: FoldRequest): Promise<readonly Cell[]> {
    const reply = Promise.withResolvers<readonly Cell[]>();
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

const keyOf = ({ owner, id }: OwnedRow): PlantKey => ({ owner, id });

function rowsOf(cells: readonly Cell[]): OwnedRow[] {
  const rows: OwnedRow[] = [];
  for (let at = 0; at < cells.length; at += CELLS)
    rows.push({
      owner: cells[at] as string,
      id: cells[at + 1] as bigint,
      name: cells[at + 2] as string,
      tag: (cells[at + 3] as string | null) ?? undefined,
    });
  return rows;
}
