import { Code, ConnectError } from '@connectrpc/connect';
import { signal } from '@preact/signals';
import type { Record } from '../../../gen/plantstore/v1/event_pb.ts';
import type { Liveness, Stream } from '../live.ts';
import { followFrom, positionFrom, readHead, readStretch, type Selection } from './reader.ts';

/** Positions that are read first, and the rows that are looked for before a reader is asked to scroll. */
const FIRST_STRETCH = 200n;
const PAGE_ROWS = 100;
/** The longest range that is read at once if few events match. */
const LONGEST_STRETCH = 200_000n;
/** Rows that are kept while new ones arrive. */
const MAX_KEPT = 20_000;

/** What to show of the log. */
export interface LogFilter extends Selection {
  readonly type?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly from?: number | undefined;
  readonly until?: number | undefined;
}

/** The log from its end backwards, as far as it was requested, and the events that are appended meanwhile. */
export class LogView implements Stream {
  readonly liveness = signal<Liveness>({ state: 'loading' });
  /** Increases with each visible change. */
  readonly version = signal(0);
  /** New events that are not shown. */
  readonly waiting = signal(0);
  /** Positions that are being searched for older events; undefined: none. */
  readonly searching = signal<bigint | undefined>(undefined);
  /** Increases when what was read before may be wrong: an owner was erased, or the log is another one. */
  forgotten = 0;
  readonly #filter: LogFilter;
  #abort = AbortSignal.abort();
  /** What is shown, oldest first. */
  #rows: Record[] = [];
  /** New events that are not shown, oldest first. */
  #fresh: Record[] = [];
  #isHeld = false;
  /** Everything after this position and up to the next is known; undefined until the log was first read. */
  #known: { after: bigint; to: bigint } | undefined;
  #first = 0n;

  constructor(filter: LogFilter) {
    this.#filter = filter;
  }

  get count(): number {
    return this.#rows.length;
  }

  /** Newest first, from 0. */
  at(index: number): Record {
    return this.#rows[this.#rows.length - 1 - index]!;
  }

  find(position: bigint): Record | undefined {
    return this.#rows.find(({ event }) => event!.position === position);
  }

  /** Whether all older events are known. */
  get isWhole(): boolean {
    return this.#known !== undefined && this.#known.after <= this.#first;
  }

  /** Whether new events wait instead of being shown. */
  set isHeld(isHeld: boolean) {
    this.#isHeld = isHeld;
    if (!isHeld) this.#letIn();
  }

  readonly run = async (isLive: () => void, signal: AbortSignal): Promise<void> => {
    this.#abort = signal;
    try {
      if (!(await this.#isStillSo())) this.#forget(undefined);
      await this.#follow(isLive);
    } catch (error) {
      // The owner of the filter was erased, or the log is shorter than it was.
      const { code } = ConnectError.from(error);
      if (code === Code.FailedPrecondition || code === Code.InvalidArgument) this.#forget(undefined);
      throw error;
    }
  };

  /** Whether the log still has the newest shown event, with or without its content as before. */
  async #isStillSo(): Promise<boolean> {
    const last = this.#rows.at(-1);
    if (last === undefined) return true;
    const { position, eventId } = last.event!;
    const [found] = await readStretch(position - 1n, position, {}, this.#abort);
    return found?.event?.eventId === eventId && found.erasedBy === last.erasedBy;
  }

  /** Shows nothing any more, and reads anew: from this position backwards, or else from the end of the log. */
  #forget(to: bigint | undefined): void {
    this.#known = to === undefined ? undefined : { after: to, to };
    this.#rows = [];
    this.#fresh = [];
    this.waiting.value = 0;
    this.forgotten++;
    this.version.value++;
  }

  /** Reads older events, enough to fill a page. Does nothing while it is already reading. */
  async more(): Promise<void> {
    if (this.#abort.aborted || this.#known === undefined || this.searching.peek() !== undefined || this.isWhole) return;
    const wanted = this.#rows.length + PAGE_ROWS;
    try {
      for (let stretch = FIRST_STRETCH; this.#rows.length < wanted && !this.isWhole; ) {
        const to: bigint = this.#known.after;
        let after: bigint = to - stretch;
        if (after < this.#first) after = this.#first;
        if (stretch < LONGEST_STRETCH) stretch *= 2n;
        this.searching.value = to;
        const older = (await readStretch(after, to, this.#filter, this.#abort)).filter(this.#fits);
        if (this.#known === undefined) return;
        // New events have pushed older rows out meanwhile, or all was forgotten.
        if (this.#known.after !== to) continue;
        this.#rows = [...older, ...this.#rows];
        this.#known = { ...this.#known, after };
        this.version.value++;
      }
    } finally {
      this.searching.value = undefined;
    }
  }

  readonly #fits = ({ event }: Record): boolean => this.#filter.type === undefined || event!.type === this.#filter.type;

  async #follow(isLive: () => void): Promise<void> {
    if (this.#known === undefined) await this.#open();
    if (this.#rows.length === 0) await this.more();
    isLive();
    if (this.#filter.until !== undefined) {
      await new Promise((resolve) => this.#abort.addEventListener('abort', resolve));
      return;
    }
    for await (const { records, position } of followFrom(this.#known!.to, this.#filter, this.#abort)) {
      this.#known = { ...this.#known!, to: position };
      if (records.some(({ event }) => event!.type === 'OwnerErased')) {
        this.#forget(position);
        await this.more();
      } else this.#take(records.filter(this.#fits));
      isLive();
    }
  }

  async #open(): Promise<void> {
    const { from, until } = this.#filter;
    const head = (await readHead(this.#abort)).position;
    const first = from === undefined ? 1n : ((await positionFrom(from, this.#abort)) ?? head + 1n);
    const next = until === undefined ? undefined : await positionFrom(until + 1000, this.#abort);
    this.#first = first - 1n;
    const to = next === undefined ? head : next - 1n;
    this.#known = { after: to, to };
  }

  #take(records: Record[]): void {
    this.#fresh = [...this.#fresh, ...records].slice(-MAX_KEPT);
    if (this.#isHeld) this.waiting.value += records.length;
    else this.#letIn();
  }

  #letIn(): void {
    this.waiting.value = 0;
    if (this.#fresh.length === 0) return;
    const rows = [...this.#rows, ...this.#fresh];
    this.#fresh = [];
    // Dropped rows can be read again.
    this.#rows = rows.slice(-MAX_KEPT);
    if (rows.length >= MAX_KEPT) this.#known = { ...this.#known!, after: this.#rows[0]!.event!.position - 1n };
    this.version.value++;
  }
}
