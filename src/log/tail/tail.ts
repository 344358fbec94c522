import type { PlantState } from '../../domain/decider.ts';
import { evolve } from '../../domain/decider.ts';
import { idempotencyString } from '../../domain/idempotency.ts';
import { keyString, textLength } from '../../domain/plant.ts';
import { headAt } from '../event/chain.ts';
import { type Head, type LoggedEvent, plantEventOf } from '../event/event.ts';

/** The state of one key after its last event in the tail. */
export interface TailEntry {
  readonly owner: string;
  readonly id: bigint;
  /** Undefined: deleted. */
  state: PlantState;
  /** Position of the key's last event. */
  position: number;
}

/** Keeps every event after `base` in the tail until it is released. */
export interface Pin {
  readonly base: number;
  release(): void;
}

/** Approximate bytes of an event in memory without its texts, for the tail's bound. */
const EVENT_OVERHEAD = 1_200;

/** Most bytes of a UTF-16 code unit. */
const CODE_UNIT = 2;

/** Most bytes of an event in memory: all its texts, and the owner once more for each index that contains it. */
export function sizeOf(logged: LoggedEvent): number {
  const event = plantEventOf(logged);
  if (event === undefined) return EVENT_OVERHEAD;
  const { owner, actor, issuer, idempotencyKey: key, traceparent } = event;
  const named = event.type === 'PlantAdded' ? textLength(event) : 0;
  const about = owner.length + actor.length + (issuer?.length ?? 0) + (key?.length ?? 0) + (traceparent?.length ?? 0);
  const inIndexes = owner.length + (key === undefined ? 0 : key.length + owner.length);
  return EVENT_OVERHEAD + CODE_UNIT * (about + named + inIndexes);
}

/**
 * The events after the read model's checkpoint, in memory: a memtable over the read model as its sorted run. It holds
 * the events of positions base + 1 to head, the state of each key that they touch, each owner's touched keys in id
 * order, and the last event of each idempotency key.
 */
export class Tail {
  #base: number;
  #head: Head;
  #bytes = 0;
  #checkpoint: number;
  readonly #events: LoggedEvent[] = [];
  readonly #entries = new Map<string, TailEntry>();
  readonly #owners = new Map<string, TailEntry[]>();
  readonly #named = new Map<string, LoggedEvent>();
  readonly #pins = new Map<number, number>();
  readonly #listeners = new Set<(news: readonly LoggedEvent[]) => void>();

  /** An empty tail of a log that ends at `head`. The read model holds all of that log. */
  constructor(head: Head) {
    this.#base = head.position;
    this.#checkpoint = head.position;
    this.#head = head;
  }

  /** The log's end as far as this instance knows. Only majority-committed events get here. */
  get head(): Head {
    return this.#head;
  }

  /** The tail holds the events after this position. */
  get base(): number {
    return this.#base;
  }

  /** The highest checkpoint of the read model that this instance has seen. */
  get checkpoint(): number {
    return this.#checkpoint;
  }

  /** Approximate size in memory, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Events held. */
  get size(): number {
    return this.#events.length;
  }

  /** The event at a position, if the tail holds it. */
  at(position: number): LoggedEvent | undefined {
    return this.#events[position - this.#base - 1];
  }

  /** At most `limit` events after a position. The position must not be before the base. */
  after(position: number, limit: number): LoggedEvent[] {
    const start = position - this.#base;
    if (start < 0) throw new RangeError(`position ${position} is before the tail's base ${this.#base}`);
    return this.#events.slice(start, start + limit);
  }

  /** The state of a key after its last event. Undefined when no event of the tail touches the key. */
  get(key: string): TailEntry | undefined {
    return this.#entries.get(key);
  }

  /** The last event of an idempotency key, given as its idempotencyString. Undefined when the tail holds none. */
  findByIdempotencyKey(idempotency: string): LoggedEvent | undefined {
    return this.#named.get(idempotency);
  }

  /** A copy of an owner's entries with ids above `after`, in ascending id. */
  ownedBy(owner: string, after: bigint | undefined): TailEntry[] {
    const entries = this.#owners.get(owner);
    if (entries === undefined) return [];
    return entries.slice(after === undefined ? 0 : indexAfter(entries, after)).map((entry) => ({ ...entry }));
  }

  /** Adds events that follow the head. Skips events that it already holds. */
  extend(events: readonly LoggedEvent[]): void {
    const news: LoggedEvent[] = [];
    for (const event of events) {
      if (event.position <= this.#head.position) continue;
      if (event.position !== this.#head.position + 1)
        throw new RangeError(`position ${event.position} does not follow ${this.#head.position}`);
      news.push(event);
      this.#events.push(event);
      this.#bytes += sizeOf(event);
      this.#apply(event);
      this.#head = headAt(event);
    }
    if (news.length === 0) return;
    this.#trim();
    for (const listener of this.#listeners) listener(news);
  }

  #apply(logged: LoggedEvent): void {
    const { position } = logged;
    const event = plantEventOf(logged);
    if (event === undefined) return;
    const { owner, plantId: id } = event;
    const idempotency = idempotencyString(event);
    if (idempotency !== undefined) this.#named.set(idempotency, logged);
    const key = keyString(owner, id);
    const entry = this.#entries.get(key);
    if (entry !== undefined) {
      entry.state = evolve(entry.state, event);
      entry.position = position;
      return;
    }
    const added: TailEntry = { owner, id, state: evolve(undefined, event), position };
    this.#entries.set(key, added);
    const owned = this.#owners.get(owner);
    if (owned === undefined) this.#owners.set(owner, [added]);
    else owned.splice(indexAfter(owned, id), 0, added);
  }

  /** Keeps all events after the current base, for a read of rows that may be as old as that base. */
  pin(): Pin {
    const base = this.#base;
    this.#pins.set(base, (this.#pins.get(base) ?? 0) + 1);
    let held = true;
    const release = () => {
      if (!held) return;
      held = false;
      const left = this.#pins.get(base)! - 1;
      if (left > 0) this.#pins.set(base, left);
      else this.#pins.delete(base);
      this.#trim();
    };
    return { base, release };
  }

  /** Records that the read model has reached a checkpoint. The tail may drop the events up to it. */
  projected(checkpoint: number): void {
    if (checkpoint <= this.#checkpoint) return;
    this.#checkpoint = checkpoint;
    this.#trim();
  }

  #trim(): void {
    let base = Math.min(this.#checkpoint, this.#head.position);
    for (const pinned of this.#pins.keys()) base = Math.min(base, pinned);
    if (base <= this.#base) return;
    const owners = new Set<string>();
    for (const dropped of this.#events.splice(0, base - this.#base)) {
      this.#bytes -= sizeOf(dropped);
      this.#forget(dropped, owners);
    }
    this.#base = base;
    // One pass for each owner: to take entries out one by one is quadratic.
    for (const owner of owners) {
      const kept = this.#owners.get(owner)!.filter(({ position }) => position > base);
      if (kept.length === 0) this.#owners.delete(owner);
      else this.#owners.set(owner, kept);
    }
  }

  /** Drops a key, and an idempotency key, with its last event. Adds the key's owner to those who lost one. */
  #forget(logged: LoggedEvent, owners: Set<string>): void {
    const { position } = logged;
    const event = plantEventOf(logged);
    if (event === undefined) return;
    const idempotency = idempotencyString(event);
    if (idempotency !== undefined && this.#named.get(idempotency) === logged) this.#named.delete(idempotency);
    const key = keyString(event.owner, event.plantId);
    if (this.#entries.get(key)?.position !== position) return;
    this.#entries.delete(key);
    owners.add(event.owner);
  }

  /**
   * Calls back with each new run of events, whichever instance appended them, before any other code can see the new
   * head. Returns a function that stops the calls.
   */
  onExtended(listener: (news: readonly LoggedEvent[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
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
