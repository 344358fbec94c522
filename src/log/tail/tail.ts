import { headAt } from '../event/chain.ts';
import { type Head, type LoggedEvent, plantEventOf, sizeOf } from '../event/event.ts';
import { Memtable } from './memtable.ts';

type Listener = (events: readonly LoggedEvent[]) => void;

/**
 * The events after the read model's checkpoint, in memory: those of positions base + 1 to head, and what they leave. It
 * keeps some of those before the base for readers that were away, but none from before an erasure.
 */
export class Tail {
  /** What its events leave of plants and idempotency keys. */
  readonly memtable = new Memtable();
  /** The last events of the log, without a gap. */
  #events: LoggedEvent[] = [];
  /** Position of the oldest of them, or of the next one of the log if there is none. */
  #first: number;
  #base: number;
  #head: Head;
  #bytes = 0;
  #checkpoint: number;
  readonly #recentBytes: number;
  /** Bytes of the events up to the base. */
  #keptBytes = 0;
  /** Position of the last OwnerErased, or where the tail was restarted. No event up to here is kept below the base. */
  #erased = 0;
  /** States as of positions up to here may have been derived from outdated rows, at any instance. -1: none was. */
  #outdatedTo = -1;
  readonly #onFault: (error: unknown) => void;
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

  /** No event from before this position may be shown from memory: it was the last erasure, or the tail began again. */
  get lastErasure(): number {
    return this.#erased;
  }

  /** The event at a position, if it is in memory. */
  at(position: number): LoggedEvent | undefined {
    return this.#events[position - this.#first];
  }

  /** At most `limit` events after a position, of which the first must be in memory, or the next of the log. */
  after(position: number, limit = Number.POSITIVE_INFINITY): LoggedEvent[] {
    if (position + 1 < this.#first)
      throw new RangeError(`the events after ${position} are not in memory: it begins with ${this.#first}`);
    const start = position + 1 - this.#first;
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

  /** Number of an owner's events after a position. Undefined: not all are in memory, or the owner was erased since. */
  countSince(owner: string, position: number): number | undefined {
    if (!this.#reaches(position)) return undefined;
    const events = this.after(position);
    if (events.some(({ erases }) => erases?.owner === owner)) return undefined;
    return events.filter((logged) => plantEventOf(logged)?.owner === owner).length;
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
      if (event.type === 'OwnerErased') this.#erased = event.position;
      this.memtable.apply(event);
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
  tellSeen(events: readonly LoggedEvent[]): void {
    this.#tell(this.#onSeen, events);
  }

  /** Drops everything, and begins again at a checkpoint of the read model. What was pinned is void. */
  restart(head: Head): void {
    this.#events = [];
    this.#first = head.position + 1;
    this.memtable.clear();
    [this.#bytes, this.#keptBytes, this.#erased] = [0, 0, head.position];
    [this.#base, this.#checkpoint, this.#head] = [head.position, head.position, head];
    this.outdateRows();
  }

  /** The rows of the read model have changed otherwise than by events: what was read of them before is outdated. */
  outdateRows(): void {
    this.#pins = new Map();
    this.#outdatedTo = Number.POSITIVE_INFINITY;
    this.#tell(this.#onOutdated, []);
  }

  /** No instance derives a state after the head from outdated rows. */
  trustRows(): void {
    this.#outdatedTo = Math.min(this.#outdatedTo, this.#head.position);
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
    const first = this.#first;
    const isOver = () => this.#keptBytes > this.#recentBytes || this.#first <= this.#erased;
    while (this.#first <= this.#base && isOver()) this.#keptBytes -= sizeOf(this.#events[this.#first++ - first]!);
    // All at once: each time, the others move.
    if (this.#first > first) this.#events.splice(0, this.#first - first);
  }

  /** Moves the base. The events up to it are kept for a while, without what was known of their keys. */
  #release(base: number): void {
    const released = this.after(this.#base, base - this.#base);
    for (const event of released) {
      const size = sizeOf(event);
      this.#bytes -= size;
      this.#keptBytes += size;
    }
    this.#base = base;
    this.memtable.release(released, base);
  }

  /** Calls back with each new run of events before any code can see the new head. Returns what stops that. */
  onExtended(listener: Listener): () => void {
    return added(this.#onExtended, listener);
  }

  /** Like onExtended, and also with the events that are passed over before a restart. */
  onSeen(listener: Listener): () => void {
    return added(this.#onSeen, listener);
  }

  /** Calls back when what was derived from rows before is outdated, also at a restart. Returns what stops that. */
  onRowsOutdated(listener: () => void): () => void {
    return added(this.#onOutdated, listener);
  }
}

function added(listeners: Set<Listener>, listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
