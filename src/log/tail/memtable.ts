import { type PlantState, stateAfter } from '../../domain/decider.ts';
import { idempotencyString } from '../../domain/idempotency.ts';
import type { PlantKey } from '../../domain/plant.ts';
import { type LoggedEvent, plantEventOf } from '../event/event.ts';

/** The state of one key after its last event in the tail. */
export interface TailEntry {
  readonly id: bigint;
  /** Undefined: deleted. */
  readonly state: PlantState;
  /** Position of the key's last event. */
  readonly position: number;
}

/**
 * What the events of the tail leave: the state of each key that they touch, each owner's touched keys in id order, and
 * the last event of each idempotency key. It lies over the read model, its sorted run.
 *
 * An OwnerErased event ends what the owner has: no entry and no idempotency key from before it is left, and rows of the
 * read model do not count for the owner as long as it is in the tail; see `hasEnded`.
 */
export class Memtable {
  readonly #owners = new Map<string, TailEntry[]>();
  readonly #named = new Map<string, LoggedEvent>();
  /** The position of the last OwnerErased event in the tail, by owner. */
  readonly #ended = new Map<string, number>();

  /** Whether an event of the tail decides what a key is: there is no need of a row. */
  knows(key: PlantKey): boolean {
    return this.#ended.has(key.owner) || this.#entryOf(key) !== undefined;
  }

  /** The state of a key after its last event. Undefined, too, unless it `knows` the key. */
  stateOf(key: PlantKey): PlantState {
    return this.#entryOf(key)?.state;
  }

  /**
   * Whether the tail has an OwnerErased event of the owner: rows do not count, since all that is left is in the tail.
   */
  hasEnded(owner: string): boolean {
    return this.#ended.has(owner);
  }

  /** The last event of an idempotency key, given as its idempotencyString. Undefined when the tail holds none. */
  findByIdempotencyKey(idempotency: string): LoggedEvent | undefined {
    return this.#named.get(idempotency);
  }

  /** An owner's entries with ids above `after`, in ascending id. */
  ownedBy(owner: string, after: bigint | undefined): TailEntry[] {
    const entries = this.#owners.get(owner) ?? [];
    return entries.slice(after === undefined ? 0 : indexAfter(entries, after));
  }

  /** Takes the next event of the log. */
  apply(logged: LoggedEvent): void {
    const { position } = logged;
    if (logged.type === 'OwnerErased') this.#end(logged);
    const event = plantEventOf(logged);
    if (event === undefined) return;
    const { owner, plantId: id } = event;
    const idempotency = idempotencyString(event);
    if (idempotency !== undefined) this.#named.set(idempotency, logged);
    const entry: TailEntry = { id, state: stateAfter(event), position };
    const owned = this.#owners.get(owner);
    if (owned === undefined) {
      this.#owners.set(owner, [entry]);
      return;
    }
    const end = indexAfter(owned, id);
    if (owned[end - 1]?.id === id) owned[end - 1] = entry;
    else owned.splice(end, 0, entry);
  }

  /** Drops what the oldest events left, which go on to `base`: the read model has it. */
  release(events: readonly LoggedEvent[], base: number): void {
    const owners = new Set<string>();
    for (const released of events) this.#forget(released, owners);
    // One pass for each owner: to take entries out one by one is quadratic.
    for (const owner of owners) {
      const kept = (this.#owners.get(owner) ?? []).filter(({ position }) => position > base);
      if (kept.length === 0) this.#owners.delete(owner);
      else this.#owners.set(owner, kept);
    }
  }

  /** Drops everything. */
  clear(): void {
    for (const part of [this.#owners, this.#named, this.#ended]) part.clear();
  }

  #entryOf({ owner, id }: PlantKey): TailEntry | undefined {
    const entries = this.#owners.get(owner);
    const entry = entries?.[indexAfter(entries, id) - 1];
    return entry?.id === id ? entry : undefined;
  }

  #end({ position, erases }: LoggedEvent): void {
    if (erases === undefined) return;
    const { owner } = erases;
    this.#ended.set(owner, position);
    this.#owners.delete(owner);
    for (const [idempotency, logged] of this.#named)
      if (plantEventOf(logged)?.owner === owner) this.#named.delete(idempotency);
  }

  /** Drops an idempotency key with its last event. Adds the event's owner to those who may lose an entry. */
  #forget(logged: LoggedEvent, owners: Set<string>): void {
    const { position, erases } = logged;
    if (erases !== undefined && this.#ended.get(erases.owner) === position) this.#ended.delete(erases.owner);
    const event = plantEventOf(logged);
    if (event === undefined) return;
    const idempotency = idempotencyString(event);
    if (idempotency !== undefined && this.#named.get(idempotency) === logged) this.#named.delete(idempotency);
    owners.add(event.owner);
  }
}

/** Index of the first entry with an id above `id`, in entries sorted by id. */
function indexAfter(entries: readonly TailEntry[], id: bigint): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (entries[middle]!.id <= id) low = middle + 1;
    else high = middle;
  }
  return low;
}
