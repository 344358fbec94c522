import type { Failure } from '../../../src/audit/checks/check.ts';
import type { FoldOptions, OpenFold } from '../../../src/audit/fold/fold.ts';
import { IDEMPOTENCY_TTL, idempotencyString } from '../../../src/domain/idempotency.ts';
import { keyString } from '../../../src/domain/plant.ts';
import { type LoggedEvent, plantEventOf } from '../../../src/log/event/event.ts';
import type { OwnedRow } from '../../../src/log/store.ts';
import { inOrder } from './state.ts';

/** The fold of a log in memory, with the promises of Fold. */
class MemoryFold implements ReturnType<OpenFold> {
  readonly #rows = new Map<string, OwnedRow>();
  readonly #keys = new Map<string, { readonly owner: string; readonly time: number }>();
  readonly #asksDecisions: boolean;
  #misfit: Failure | undefined;
  #position = 0;

  constructor({ asksDecisions = false }: FoldOptions = {}) {
    this.#asksDecisions = asksDecisions;
  }

  get position(): number {
    return this.#position;
  }

  async apply(events: readonly LoggedEvent[]): Promise<void> {
    this.#position = events.at(-1)?.position ?? this.#position;
    for (const event of events) {
      const why = this.#apply(event);
      if (why !== undefined) this.#misfit ??= { position: event.position, message: why };
    }
  }

  async misfit(): Promise<Failure | undefined> {
    return this.#misfit;
  }

  async *rows(): AsyncGenerator<OwnedRow[]> {
    const rows = [...this.#rows.values()].sort(inOrder);
    if (rows.length > 0) yield rows;
  }

  async close(): Promise<void> {}

  #apply(logged: LoggedEvent): string | undefined {
    const erased = logged.erases?.owner;
    for (const [key, row] of this.#rows) if (row.owner === erased) this.#rows.delete(key);
    for (const [name, { owner: of }] of this.#keys) if (of === erased) this.#keys.delete(name);
    const event = plantEventOf(logged);
    if (event === undefined) return undefined;
    const { owner, plantId: id } = event;
    const key = keyString(owner, id);
    if (event.type === 'PlantDeleted') {
      if (!this.#rows.delete(key)) return 'a plant is deleted that is not there';
    } else {
      const isThere = this.#rows.has(key);
      this.#rows.set(key, { owner, id, name: event.name, tag: event.tag });
      if (isThere) return 'a plant is added that is there';
    }
    const name = this.#asksDecisions ? idempotencyString(event) : undefined;
    if (name === undefined) return undefined;
    const earlier = this.#keys.get(name)?.time ?? Number.NEGATIVE_INFINITY;
    if (logged.time - earlier < IDEMPOTENCY_TTL) return 'an idempotency key is used again';
    this.#keys.set(name, { owner, time: logged.time });
    return undefined;
  }
}

/** See MemoryFold. */
export const openMemoryFold: OpenFold = (options) => new MemoryFold(options);
