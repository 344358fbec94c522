import type { Principal } from '../../auth/principal.ts';
import type { Validity } from '../../auth/validity.ts';
import { counted } from '../../domain/counted.ts';
import { PlantStoreError, toPlantStoreError } from '../../domain/errors.ts';
import { type LoggedEvent, plantEventOf } from '../../log/event/event.ts';
import type { EventLog } from '../../log/log.ts';
import { rowBytes } from '../../log/row-size.ts';
import type { PlantRow } from '../../log/store.ts';
import type { Listing } from '../../log/view/listing.ts';
import { Semaphore } from '../../semaphore.ts';
import { clearTimer, monotonic, nextTurn, setRepeating, type Timer } from '../../time/host.ts';
import { PIECE, runs } from '../pages.ts';
import { Channel, type Mark, type Step, type Subscriber, stepBytes, stepsOf } from './channel.ts';
import { Rounds } from './rounds.ts';

/** The reader of a watch. None of its methods may throw. */
export interface Viewer {
  /** Bytes of taken steps that are not sent yet. */
  readonly unsent: number;
  /** The state has so many bytes in memory for this reader alone. Undefined where memory is not counted. */
  holds?(bytes: number): void;
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
  'list' | 'head' | 'status' | 'recent' | 'lookAtRows' | 'onExtended' | 'onRowsOutdated' | 'changed'
>;

/** A state that is not read yet may hold what was erased. */
const ERASED = new PlantStoreError(
  'OVERLOADED',
  'events that were not read yet have been erased; start the watch again',
);

const NOTHING: readonly Step[] = [];
const RESET: readonly Step[] = [{ type: 'reset' }];

/** What a watch needs of all watches. */
type Keeper = Pick<Watches, 'log' | 'delivered' | 'turn' | 'mayTell' | 'left'>;

/**
 * One reader of an owner's changes: first a beginning, and then every event, once and in order. It subscribes before it
 * reads the state, and skips events that the state already includes.
 */
export class Watch implements Subscriber {
  readonly channel: Channel;
  readonly #keeper: Keeper;
  readonly #validity: Validity;
  readonly #viewer: Viewer;
  /** Everything up to here was taken. */
  #mark: Mark;
  #why: PlantStoreError | undefined;
  #isOver = false;
  #isBeginning = true;
  #spoke = monotonic();

  constructor(keeper: Keeper, channel: Channel, validity: Validity, viewer: Viewer) {
    this.#keeper = keeper;
    this.channel = channel;
    this.#validity = validity;
    this.#viewer = viewer;
    this.#mark = channel.end;
  }

  /**
   * The beginning, in pieces, few of which come in a turn of the event loop. After a position: the missed events.
   * Otherwise, or when memory does not hold the missed events: the state and then `ready`, with `reset` first if a
   * position was given. Read it to its end before taking any step. Rejects with PlantStoreError; the watch is then
   * over.
   */
  async begin(after: number | undefined): Promise<AsyncIterable<readonly Step[]>> {
    try {
      return this.#whileOpen(await this.#beginning(after));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  async #beginning(after: number | undefined): Promise<Iterable<readonly Step[]> | AsyncIterable<readonly Step[]>> {
    const { owner } = this.channel;
    const { log } = this.#keeper;
    if (after !== undefined) {
      // The position may come from another instance and be ahead of this one.
      await log.head();
      const events = log.recent(after);
      if (events !== undefined) {
        // Later ones are delivered.
        this.#passOver(log.status.head);
        return [stepsOf(owner, events)];
      }
    }
    // The list is exact here too: everything up to here was delivered before it was asked for.
    const known = log.status.head;
    const list = await log.list({ owner, after: undefined, limit: undefined });
    const position = Math.max(list.position, known);
    this.#passOver(position);
    return this.#stateOf(list, position, after === undefined ? NOTHING : RESET);
  }

  async *#stateOf({ plants }: Listing, position: number, before: readonly Step[]): AsyncGenerator<readonly Step[]> {
    const ready = { type: 'ready', position } as const;
    if (Symbol.iterator in plants) {
      yield [...before, ...plants.map(added), ready];
      return;
    }
    if (before.length > 0) yield before;
    for await (const batch of plants) {
      this.#viewer.holds?.(rowBytes(batch));
      if (batch.length > 0) yield batch.map(added);
    }
    this.#viewer.holds?.(0);
    yield [ready];
  }

  #passOver(position: number): void {
    for (let mark = this.#mark.next; mark !== undefined && mark.position <= position; mark = mark.next)
      this.#mark = mark;
  }

  async *#whileOpen(
    batches: Iterable<readonly Step[]> | AsyncIterable<readonly Step[]>,
  ): AsyncGenerator<readonly Step[]> {
    for await (const batch of batches) {
      const bytes = batch.reduce((sum, step) => sum + stepBytes(step), 0);
      for (const piece of runs(batch, stepBytes, PIECE)) {
        // Thousands may connect again at once, and most states are one small piece.
        if (bytes > PIECE) await this.#keeper.turn(this.channel.owner);
        if (!this.#validity.holds) await this.#validity.confirm();
        await this.#keeper.log.lookAtRows();
        if (this.#why !== undefined) throw this.#why;
        if (this.#isOver) return;
        this.#tell(piece);
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
    if (!this.#keeper.mayTell(this.channel)) return NOTHING;
    const steps = this.channel.after(this.#mark);
    this.#mark = this.channel.end;
    this.#tell(steps);
    return steps;
  }

  #tell(steps: readonly Step[]): void {
    this.#spoke = monotonic();
    this.#keeper.delivered(steps.length);
  }

  /** Bytes of events since the watch began that the reader has not got yet. */
  get #behind(): number {
    return this.channel.end.bytes - this.#mark.bytes + this.#viewer.unsent;
  }

  deliver(): void {
    if (!this.#isOver) this.#viewer.news();
  }

  skip(): void {
    if (this.#isBeginning) this.end(ERASED);
    else if (!this.#isOver) this.#mark = this.channel.end;
  }

  /** Checks the token, ends a long silence, and returns whether the reader is too far behind. */
  look(now: number): boolean {
    this.#confirm();
    if (now - this.#spoke >= QUIET) {
      this.#spoke = now;
      this.#viewer.quiet();
    }
    // What could not be told while the store was away.
    if (this.#behind > 0) this.deliver();
    return this.#behind > MAX_BEHIND;
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
    this.#viewer.ended(why);
  }

  /** Closes the watch after its reader has left. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // The watch must not keep later steps in memory.
    this.#mark = { step: undefined, position: 0, bytes: 0, next: undefined };
    this.#keeper.left(this);
  }
}

const added = (plant: PlantRow): Step => ({ type: 'added', plant, position: undefined });

interface WatchLimits {
  readonly maxWatches: number;
  readonly maxOwnerWatches: number;
}

/** Most bytes that a reader may be behind. */
const MAX_BEHIND = 1024 * 1024;
/** Milliseconds of silence after which a reader gets a sign of life. */
const QUIET = 15_000;
/** Most pieces of long answers in a turn of the event loop. */
const MOST_PIECES = 2;
/** Milliseconds between two checks of all watches for their tokens, silence and lag. One timer serves all. */
const LOOK = 500;

/** Readers come back, and get the state. */
const OUTDATED = new PlantStoreError(
  'OVERLOADED',
  'the plants were repaired, or this instance was cut off for too long to know all changes; resume after the last position',
);

const BEHIND = new PlantStoreError(
  'WATCH_TOO_SLOW',
  'the reader fell too far behind; resume after the last position that you received',
);

/** All watches of an instance. The tail gives them every event; one of an owner without watches costs nothing. */
export class Watches {
  readonly log: WatchedLog;
  readonly #limits: WatchLimits;
  readonly #channels = new Map<string, Channel>();
  readonly #pieces = new Semaphore({ permits: MOST_PIECES, maxWaiting: Infinity });
  readonly #rounds = new Rounds();
  readonly #stopListening: () => void;
  readonly #watches = new Set<Watch>();
  #steps = 0;
  #cutOff = 0;
  #timer: Timer | undefined;
  /** The error that refuses new watches once closed. */
  #closed: PlantStoreError | undefined;

  constructor(log: WatchedLog, limits: WatchLimits) {
    this.log = log;
    this.#limits = limits;
    this.#stopListening = log.onExtended((news) => this.#extended(news));
    log.onRowsOutdated(() => this.#end(OUTDATED));
    log.changed.addEventListener('abort', () =>
      this.close(new PlantStoreError('STORE_UNAVAILABLE', 'the log was replaced; use another instance')),
    );
  }

  /** Open watches; delivered steps, counted for each watch; watches that ended because their readers fell behind. */
  get statistics() {
    return { open: this.#watches.size, steps: this.#steps, cutOff: this.#cutOff };
  }

  /**
   * Opens a watch of the caller's plants. Begin it, and close it at the end. Throws TOO_MANY_WATCHES when the owner has
   * too many, and OVERLOADED when all owners together have too many or the instance stops.
   */
  open({ owner, validity }: Principal, viewer: Viewer): Watch {
    if (this.#closed !== undefined) throw this.#closed;
    const channel = this.#channels.get(owner) ?? new Channel(owner);
    if (channel.subscribers.size >= this.#limits.maxOwnerWatches)
      throw new PlantStoreError(
        'TOO_MANY_WATCHES',
        `this owner has ${counted(channel.subscribers.size, 'stream')} open, the maximum; share one, or close one`,
      );
    if (this.#watches.size >= this.#limits.maxWatches)
      throw new PlantStoreError('OVERLOADED', 'too many streams are open on this instance; try again');
    const watch = new Watch(this, channel, validity, viewer);
    this.#channels.set(owner, channel);
    channel.subscribers.add(watch);
    this.#watches.add(watch);
    this.#timer ??= setRepeating(() => this.#look(), LOOK).unref();
    return watch;
  }

  /** Ends all watches, so that their readers reconnect to another instance, and opens no more. */
  close(why: PlantStoreError): void {
    this.#closed ??= why;
    this.#stopListening();
    this.#end(why);
  }

  #end(why: PlantStoreError): void {
    for (const watch of this.#watches) watch.end(why);
  }

  /** Resolves when the next piece of a long answer may be made: owners take turns, and other work goes on between. */
  async turn(owner: string): Promise<void> {
    const permit = await this.#pieces.acquire(owner);
    nextTurn(() => permit[Symbol.dispose]());
  }

  /**
   * Whether the rows that watches began on are known not to be repaired. Otherwise the channel's readers hear later.
   */
  mayTell(channel: Channel): boolean {
    const look = this.log.lookAtRows();
    look?.then(
      () => this.#rounds.begin(channel),
      () => {},
    );
    return look === undefined;
  }

  delivered(steps: number): void {
    this.#steps += steps;
  }

  left(watch: Watch): void {
    const { channel } = watch;
    channel.subscribers.delete(watch);
    if (channel.subscribers.size === 0) this.#channels.delete(channel.owner);
    this.#watches.delete(watch);
    if (this.#watches.size > 0) return;
    clearTimer(this.#timer);
    this.#timer = undefined;
  }

  #extended(news: readonly LoggedEvent[]): void {
    for (const logged of news) {
      const { position, erases } = logged;
      const event = plantEventOf(logged);
      const channel = this.#channels.get(erases?.owner ?? event?.owner ?? '');
      if (channel === undefined) continue;
      if (event === undefined) channel.erase(position);
      else channel.tell({ position, event });
      this.#rounds.begin(channel);
    }
  }

  #look(): void {
    const now = monotonic();
    for (const watch of this.#watches) {
      if (!watch.look(now)) continue;
      this.#cutOff++;
      watch.end(BEHIND);
    }
  }
}
