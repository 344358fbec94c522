import { type PlantState, stateAfter } from '../../domain/decider.ts';
import { idempotencyString } from '../../domain/idempotency.ts';
import type { PlantKey } from '../../domain/plant.ts';
import { headAt } from '../event/chain.ts';
import { type Head, type LoggedEvent, plantEventOf, sizeOf } from '../event/event.ts';

/** The state of one key after its last event in the tail. */
export interface TailEntry {
  readonly owner: string;
  readonly id: bigint;
  /** Undefined: deleted. */
  readonly state: PlantState;
  /** Position of the key's last event. */
  readonly position: number;
}

type Listener = (events: readonly LoggedEvent[]) => void;

/**
 * The events after the read model's checkpoint, in memory: a memtable over the read model as its sorted run. It holds
 * the events of positions base + 1 to head, the state of each key that they touch, each owner's touched keys in id
 * order, and the last event of each idempotency key. It keeps some of the events before the base for readers that were
 * away, but none from before an erasure.
 *
 * An OwnerErased event ends what the owner has: no entry and no idempotency key from before it is left, and rows of the
 * read model do not count for the owner as long as it is in the tail; see `hasEnded`.
 */
export class Tail {
  #base: number;
  #head: Head;
  #bytes = 0;
  #checkpoint: number;
  /** Position of the oldest event in memory, or of the next one of the log if there is none. */
  #first: number;
  /** The events from #origin to the head. Those before #first are about to go. */
  #events: LoggedEvent[] = [];
  #origin: number;
  readonly #recentBytes: number;
  /** Bytes of the events up to the base. */
  #keptBytes = 0;
  /** No event up to here is kept. */
  #erased = 0;
  /** What any instance has derived from rows as of a position up to here may be of no use. -1: all is of use. */
  #outdatedTo = -1;
  /** The position of the last OwnerErased event in the tail, by owner. */
  readonly #ended = new Map<string, number>();
  readonly #onFault: (error: unknown) => void;
  readonly #owners = new Map<string, TailEntry[]>();
  readonly #named = new Map<string, LoggedEvent>();
  #pins = new Map<number, number>();
  readonly #onExtended = new Set<Listener>();
  readonly #onSeen = new Set<Listener>();
  readonly #onOutdated = new Set<Listener>();

  /**
   * An empty tail of a log that ends at `head`. The read model holds all of that log. `recentBytes`: most bytes of the
   * events that are kept before the base. `onFault` is called with what a listener throws.
   */
  constructor(head: Head, recentBytes = 0, onFault: (error: unknown) => void = () => {}) {
    this.#onFault = onFault;
    this.#recentBytes = recentBytes;
    this.#first = head.position + 1;
    this.#origin = this.#first;
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

  /** Events after the base. */
  get size(): number {
    return this.#head.position - this.#base;
  }

  /**
   * Whoever reads the log gets the events after this position from memory. Earlier ones are not there, or come before
   * an erasure: what that removes may be gone from the store, and is not shown from memory.
   */
  get readableAfter(): number {
    return Math.max(this.#first - 1, this.#erased);
  }

  /** The event at a position, if it is in memory. */
  at(position: number): LoggedEvent | undefined {
    return position < this.#first ? undefined : this.#events[position - this.#origin];
  }

  /** At most `limit` events after a position, of which the first must be in memory, or the next of the log. */
  after(position: number, limit = Number.POSITIVE_INFINITY): LoggedEvent[] {
    if (position + 1 < this.#first)
      throw new RangeError(`the events after ${position} are not in memory: it begins with ${this.#first}`);
    const start = position + 1 - this.#origin;
    return this.#events.slice(start, start + limit);
  }

  /**
   * The events after a position, for whoever knows the state there. Undefined when memory does not reach back that far,
   * the log does not reach it, or the state may be from rows that were repaired since.
   */
  recent(position: number): LoggedEvent[] | undefined {
    return position > this.#outdatedTo && this.#reaches(position) ? this.after(position) : undefined;
  }

  /** Whether the log reaches this position, and memory has all events after it. */
  #reaches(position: number): boolean {
    return position <= this.#head.position && position + 1 >= this.#first;
  }

  /** Whether an event of the tail decides what a key is: there is no need of a row. */
  knows(key: PlantKey): boolean {
    return this.#ended.has(key.owner) || this.#entryOf(key) !== undefined;
  }

  /** The state of a key after its last event. Undefined, too, unless the tail `knows` it. */
  stateOf(key: PlantKey): PlantState {
    return this.#entryOf(key)?.state;
  }

  #entryOf({ owner, id }: PlantKey): TailEntry | undefined {
    const entries = this.#owners.get(owner);
    const entry = entries?.[indexAfter(entries, id) - 1];
    return entry?.id === id ? entry : undefined;
  }

  /**
   * Whether the tail has an OwnerErased event of the owner: rows do not count, since all that is left is in the tail.
   */
  hasEnded(owner: string): boolean {
    return this.#ended.has(owner);
  }

  /** Number of an owner's events after a position. Undefined: not all are in memory, or the owner was erased since. */
  since(owner: string, position: number): number | undefined {
    if (!this.#reaches(position)) return undefined;
    const events = this.after(position);
    if (events.some(({ erases }) => erases?.owner === owner)) return undefined;
    return events.filter((logged) => plantEventOf(logged)?.owner === owner).length;
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
    this.#tell(this.#onExtended, news);
    this.#tell(this.#onSeen, news);
  }

  /** Every listener is told, whatever another one does. */
  #tell(listeners: ReadonlySet<Listener>, events: readonly LoggedEvent[]): void {
    for (const listener of listeners)
      try {
        listener(events);
      } catch (error) {
        this.#onFault(error);
      }
  }

  /** Events were verified after the head that never come into the tail: it is about to be restarted behind them. */
  passOver(events: readonly LoggedEvent[]): void {
    this.#tell(this.#onSeen, events);
  }

  /** Drops everything, and begins again at a checkpoint of the read model. What was pinned is void. */
  restart(head: Head): void {
    this.#events = [];
    this.#first = head.position + 1;
    this.#origin = this.#first;
    for (const part of [this.#owners, this.#named, this.#ended]) part.clear();
    [this.#bytes, this.#keptBytes, this.#erased] = [0, 0, head.position];
    [this.#base, this.#checkpoint, this.#head] = [head.position, head.position, head];
    this.outdateRows();
  }

  /** The rows of the read model have changed otherwise than by events: what was read before is of no use. */
  outdateRows(): void {
    this.#pins = new Map();
    this.#outdatedTo = Number.POSITIVE_INFINITY;
    this.#tell(this.#onOutdated, []);
  }

  /** What any instance derives from rows from the head on is of use. */
  trustRows(): void {
    this.#outdatedTo = Math.min(this.#outdatedTo, this.#head.position);
  }

  #apply(logged: LoggedEvent): void {
    const { position } = logged;
    if (logged.type === 'OwnerErased') this.#end(logged);
    const event = plantEventOf(logged);
    if (event === undefined) return;
    const { owner, plantId: id } = event;
    const idempotency = idempotencyString(event);
    if (idempotency !== undefined) this.#named.set(idempotency, logged);
    const entry: TailEntry = { owner, id, state: stateAfter(event), position };
    const owned = this.#owners.get(owner);
    if (owned === undefined) {
      this.#owners.set(owner, [entry]);
      return;
    }
    const end = indexAfter(owned, id);
    if (owned[end - 1]?.id === id) owned[end - 1] = entry;
    else owned.splice(end, 0, entry);
  }

  #end({ position, erases }: LoggedEvent): void {
    this.#erased = position;
    if (erases === undefined) return;
    const { owner } = erases;
    this.#ended.set(owner, position);
    this.#owners.delete(owner);
    for (const [idempotency, logged] of this.#named)
      if (plantEventOf(logged)?.owner === owner) this.#named.delete(idempotency);
  }

  /**
   * Reads rows of the read model, and uses them with the tail on top, in the step that ends the read: the tail is
   * pinned, so that it has all events after `base` until then. Reads again whenever what was read is outdated: the tail
   * was restarted meanwhile, or the rows were repaired.
   */
  async pinned<Read, Used>(read: (base: number) => Promise<Read>, use: (read: Read) => Used): Promise<Used> {
    for (;;) {
      const [base, pins] = [this.#base, this.#pins];
      pins.set(base, (pins.get(base) ?? 0) + 1);
      try {
        const found = await read(base);
        if (this.#pins === pins) return use(found);
      } finally {
        const left = pins.get(base)! - 1;
        if (left > 0) pins.set(base, left);
        else pins.delete(base);
        this.#trim();
      }
    }
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
    if (base > this.#base) this.#release(base);
    const isOver = () => this.#keptBytes > this.#recentBytes || this.#first <= this.#erased;
    for (; this.#first <= this.#base && isOver(); this.#first++) this.#keptBytes -= sizeOf(this.at(this.#first)!);
    const gone = this.#first - this.#origin;
    // Moving the rest at every event would take time in proportion to the number of events.
    if (gone <= this.#events.length / 2) return;
    this.#events = this.#events.slice(gone);
    this.#origin = this.#first;
  }

  /** Moves the base. The events up to it are kept for a while, without what was known of their keys. */
  #release(base: number): void {
    const owners = new Set<string>();
    for (const released of this.after(this.#base, base - this.#base)) {
      const size = sizeOf(released);
      this.#bytes -= size;
      this.#keptBytes += size;
      this.#forget(released, owners);
    }
    this.#base = base;
    // One pass for each owner: to take entries out one by one is quadratic.
    for (const owner of owners) {
      const kept = (this.#owners.get(owner) ?? []).filter(({ position }) => position > base);
      if (kept.length === 0) this.#owners.delete(owner);
      else this.#owners.set(owner, kept);
    }
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

  /** Calls back with each new run of events before any code can see the new head. Returns what stops that. */
  onExtended(listener: Listener): () => void {
    return added(this.#onExtended, listener);
  }

  /** Like onExtended, and also with the events that are passed over before a restart. */
  onSeen(listener: Listener): () => void {
    return added(this.#onSeen, listener);
  }

  /** Calls back when what was derived from rows before is of no use, also at a restart. Returns what stops that. */
  onRowsOutdated(listener: () => void): () => void {
    return added(this.#onOutdated, listener);
  }
}

function added(listeners: Set<Listener>, listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
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
