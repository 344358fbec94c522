import type { Validity } from '../../auth/validity.ts';
import { PlantStoreError, toPlantStoreError } from '../../domain/errors.ts';
import { runs } from '../../log/batches.ts';
import type { EventLog } from '../../log/log.ts';
import { rowBytes } from '../../log/row-size.ts';
import type { PlantRow } from '../../log/store.ts';
import { isLong, type Listing } from '../../log/view/listing.ts';
import { monotonic } from '../../time/host.ts';
import { MAX_PIECE_BYTES } from '../pages.ts';
import { type Channel, type Mark, memoryBetween, type Step, type Subscriber, stepBytes, stepsOf } from './channel.ts';

/** The reader of a watch. None of its methods may throw. */
export interface WatchReader {
  /** Bytes of taken steps that are not sent yet. */
  readonly unsent: number;
  /** So many bytes are in memory for this reader, of the state or of later steps. Undefined: nobody counts them. */
  setHeld?(bytes: number): void;
  /** There may be steps to take. */
  news(): void;
  /** There was nothing to send for a while. */
  quiet(): void;
  /** The watch is over, for this reason. Nothing more can be taken. */
  ended(why: PlantStoreError): void;
}

/** The part of a log that can be watched. */
export type WatchedLog = Pick<
  EventLog,
  'list' | 'head' | 'status' | 'recent' | 'revalidateRows' | 'onExtended' | 'onRowsOutdated' | 'replaced'
>;

/** What a watch needs of all watches of its instance. */
export interface OpenWatches {
  readonly log: WatchedLog;
  /** Resolves when the next piece of a long answer may be made: owners take turns, and other work goes on between. */
  waitForPiece(owner: string): Promise<void>;
  /** Whether the rows that watches began on are known not to be repaired. If not, the channel's readers hear later. */
  mayTell(channel: Channel): boolean;
  /** So many steps were taken. */
  delivered(steps: number): void;
  /** The watch is over. */
  left(watch: Watch): void;
}

/** A state that is not read yet may hold what was erased. */
const ERASED = new PlantStoreError(
  'OVERLOADED',
  'events that were not read yet have been erased; start the watch again',
);

/** Bytes that an open watch takes in memory beside its connection or stream. */
const OPEN_BYTES = 8 * 1024;
/** Most bytes that a reader may be behind. */
const MAX_BEHIND_BYTES = 1024 * 1024;
/** Milliseconds of silence after which a reader gets a sign of life. */
const QUIET_LIMIT = 15_000;

const NOTHING: readonly Step[] = [];
const RESET: readonly Step[] = [{ type: 'reset' }];

/**
 * One reader of an owner's changes: first a beginning, and then every event, once and in order. It subscribes before it
 * reads the state, and skips events that the state already includes.
 */
export class Watch implements Subscriber {
  readonly channel: Channel;
  readonly #watches: OpenWatches;
  readonly #validity: Validity;
  readonly #reader: WatchReader;
  /** Everything up to here was taken. */
  #mark: Mark;
  #why: PlantStoreError | undefined;
  #isOver = false;
  #isBeginning = true;
  /** Closes the long list that it begins with, whether or not anybody has begun to read it. */
  #closeList: (() => void) | undefined;
  #lastSent = monotonic();
  /** Bytes of memory of the steps that waited at the last check. */
  #waiting = 0;

  constructor(watches: OpenWatches, channel: Channel, validity: Validity, reader: WatchReader) {
    this.#watches = watches;
    this.channel = channel;
    this.#validity = validity;
    this.#reader = reader;
    this.#mark = channel.end;
  }

  /**
   * The beginning, in pieces, few of which come in a turn of the event loop. After a position: the missed events.
   * Otherwise, or when memory does not hold the missed events: the state and then `ready`, with `reset` first if a
   * position was given. Read it to its end before taking any step. Rejects with PlantStoreError; the watch is then
   * over.
   */
  async begin(after: number | undefined): Promise<AsyncIterable<readonly Step[]>> {
    this.#count(0);
    try {
      return this.#whileOpen(await this.#beginning(after));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  async #beginning(after: number | undefined): Promise<Iterable<readonly Step[]> | AsyncIterable<readonly Step[]>> {
    const { owner } = this.channel;
    const { log } = this.#watches;
    if (after !== undefined) {
      // The position may come from another instance and be ahead of this one.
      await log.head();
      const events = log.recent(after);
      if (events !== undefined) {
        // Later ones are delivered.
        this.#skipTo(log.status.head);
        return [stepsOf(owner, events)];
      }
    }
    // The list is exact here too: everything up to here was delivered before it was asked for.
    const known = log.status.head;
    const list = await log.list({ owner, after: undefined, limit: undefined });
    if (isLong(list)) this.#closeList = () => void list.plants.return!().catch(() => {});
    if (this.#isOver) this.#closeList?.();
    const position = Math.max(list.position, known);
    this.#skipTo(position);
    return this.#stateOf(list, position, after === undefined ? NOTHING : RESET);
  }

  async *#stateOf(list: Listing, position: number, before: readonly Step[]): AsyncGenerator<readonly Step[]> {
    const ready = { type: 'ready', position } as const;
    if (!isLong(list)) {
      yield [...before, ...list.plants.map(added), ready];
      return;
    }
    if (before.length > 0) yield before;
    for await (const batch of list.plants) {
      this.#count(rowBytes(batch));
      if (batch.length > 0) yield batch.map(added);
    }
    this.#count(0);
    yield [ready];
  }

  #skipTo(position: number): void {
    for (let mark = this.#mark.next; mark !== undefined && mark.position <= position; mark = mark.next)
      this.#mark = mark;
  }

  async *#whileOpen(
    batches: Iterable<readonly Step[]> | AsyncIterable<readonly Step[]>,
  ): AsyncGenerator<readonly Step[]> {
    for await (const batch of batches) {
      const bytes = batch.reduce((sum, step) => sum + stepBytes(step), 0);
      for (const piece of runs(batch, stepBytes, MAX_PIECE_BYTES)) {
        // Thousands may connect again at once, and most states are one small piece.
        if (bytes > MAX_PIECE_BYTES) await this.#watches.waitForPiece(this.channel.owner);
        if (!this.#validity.holds) await this.#validity.confirm();
        await this.#watches.log.revalidateRows();
        if (this.#why !== undefined) throw this.#why;
        if (this.#isOver) return;
        this.#delivered(piece);
        yield piece;
      }
    }
    this.#isBeginning = false;
  }

  /** The new events, in order. Readers at the same mark get the same array. */
  take(): readonly Step[] {
    if (this.#isOver || this.#mark === this.channel.end) return NOTHING;
    if (!this.#validity.holds) {
      this.#confirm();
      return NOTHING;
    }
    if (!this.#watches.mayTell(this.channel)) return NOTHING;
    const steps = this.channel.after(this.#mark);
    this.#mark = this.channel.end;
    this.#delivered(steps);
    return steps;
  }

  #delivered(steps: readonly Step[]): void {
    this.#lastSent = monotonic();
    this.#watches.delivered(steps.length);
  }

  /** Bytes of events since the watch began that the reader has not got yet. */
  get #behind(): number {
    return this.channel.end.bytes - this.#mark.bytes + this.#reader.unsent;
  }

  deliver(): void {
    if (!this.#isOver) this.#reader.news();
  }

  skip(): void {
    if (this.#isBeginning) this.end(ERASED);
    else if (!this.#isOver) this.#mark = this.channel.end;
  }

  /** Checks the token, ends a long silence, and returns whether the reader is too far behind. */
  check(now: number): boolean {
    this.#confirm();
    if (now - this.#lastSent >= QUIET_LIMIT) {
      this.#lastSent = now;
      this.#reader.quiet();
    }
    // Delivers what could not be told while the store could not be reached.
    if (this.#behind > 0) this.deliver();
    this.#countWaiting();
    return this.#behind > MAX_BEHIND_BYTES;
  }

  /** Counts the steps that the reader does not take, also where others of the owner have not taken them either. */
  #countWaiting(): void {
    const waiting = memoryBetween(this.#mark, this.channel.end);
    if (this.#isBeginning || waiting === this.#waiting) return;
    this.#waiting = waiting;
    this.#count(waiting);
  }

  /** So many bytes are in memory for the reader beside those of the watch itself. */
  #count(bytes: number): void {
    this.#reader.setHeld?.(OPEN_BYTES + bytes);
  }

  /** Checks whether the token is valid, and ends the watch if it is not. Waiting steps can be taken afterwards. */
  #confirm(): void {
    if (this.#validity.holds) return;
    this.#validity.confirm().then(
      () => this.deliver(),
      (refusal) => this.end(toPlantStoreError(refusal)),
    );
  }

  end(why: PlantStoreError): void {
    if (this.#isOver) return;
    this.#why = why;
    this.close();
    this.#reader.ended(why);
  }

  /** Closes the watch after its reader has left. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // The watch must not keep later steps in memory.
    this.#mark = { ...this.#mark, step: undefined, next: undefined };
    this.#closeList?.();
    this.#watches.left(this);
  }
}

const added = (plant: PlantRow): Step => ({ type: 'added', plant, position: undefined });
