import { keyString, type Plant, type PlantKey } from '../../src/domain/plant.ts';
import { type LoggedEvent, plantEventOf } from '../../src/log/event/event.ts';
import type { OwnedRow, PlantRow } from '../../src/log/store.ts';
import type { ListQuery } from '../../src/log/view/listing.ts';

/** What goes on beside the commands. */
export type TaskKind = 'repair' | 'verify' | 'list';

/** What the plants have to be, told in the plainest way: the events, folded. Nothing of the product is used. */
export class Model {
  readonly log: LoggedEvent[] = [];
  readonly #plants = new Map<string, OwnedRow>();
  /**
   * Keys whose rows were damaged since the read model was last repaired, and which damage was the last: nobody can know
   * what is right there.
   */
  readonly damaged = new Map<string, number>();
  /** Damages so far. */
  damages = 0;
  /** Queries that were first asked while their owner's rows were damaged, and are asked after every step since. */
  readonly remembered: ListQuery[] = [];
  /** Tasks that were begun and may go on, in the order in which they were begun. */
  readonly tasks: TaskKind[] = [];

  /** Takes over what was accepted. */
  take(event: LoggedEvent): void {
    this.log.push(event);
    applyTo(this.#plants, event);
  }

  has(owner: string, id: bigint): boolean {
    return this.#plants.has(keyString(owner, id));
  }

  isDamaged({ owner, id }: PlantKey): boolean {
    return this.damaged.has(keyString(owner, id));
  }

  /** Whether nothing of an owner is damaged. */
  isWhole(owner: string): boolean {
    return ![...this.damaged.keys()].some((key) => key.endsWith(`:${owner}`));
  }

  plant(owner: string, id: bigint): Plant | undefined {
    return this.#plants.get(keyString(owner, id));
  }

  /** What a list has to be, but for what is damaged. */
  list({ owner, after, limit }: ListQuery): { plants: PlantRow[]; next: bigint | undefined } {
    const rest = [...this.#plants.values()]
      .filter((row) => row.owner === owner && (after === undefined || row.id > after))
      .sort(byKey)
      .map(({ id, name, tag }) => ({ id, name, tag }));
    const plants = rest.slice(0, limit);
    return { plants, next: limit !== 0 && plants.length < rest.length ? plants.at(-1)!.id : undefined };
  }

  /** The rows that the read model has to have at a checkpoint, in their order. */
  rows(checkpoint: number): OwnedRow[] {
    const plants = new Map<string, OwnedRow>();
    for (const event of this.log.slice(0, checkpoint)) applyTo(plants, event);
    return [...plants.values()].sort(byKey);
  }
}

function applyTo(plants: Map<string, OwnedRow>, logged: LoggedEvent): void {
  const event = plantEventOf(logged);
  if (event === undefined) return;
  const { owner, plantId: id } = event;
  if (event.type === 'PlantAdded') plants.set(keyString(owner, id), { owner, id, name: event.name, tag: event.tag });
  else plants.delete(keyString(owner, id));
}

/** Ascending owner, by the bytes of its UTF-8, and id. */
export const byKey = (a: OwnedRow, b: OwnedRow): number =>
  Buffer.compare(Buffer.from(a.owner), Buffer.from(b.owner)) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

const isSame = (a: OwnedRow, b: OwnedRow): boolean => a.name === b.name && a.tag === b.tag;

/** Every key whose row is not what it has to be, in ascending order. */
export function differences(expected: readonly OwnedRow[], actual: readonly OwnedRow[]): PlantKey[] {
  const rows = new Map(actual.map((row) => [keyString(row.owner, row.id), row]));
  const wrong: OwnedRow[] = [];
  for (const row of expected) {
    const key = keyString(row.owner, row.id);
    const found = rows.get(key);
    rows.delete(key);
    if (found === undefined || !isSame(row, found)) wrong.push(row);
  }
  return [...wrong, ...rows.values()].sort(byKey);
}
