import type { Principal } from '../../auth/principal.ts';
import { counted } from '../../counted.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import { type LoggedEvent, plantEventOf } from '../../log/event/event.ts';
import type { EventLog } from '../../log/log.ts';
import type { Listing } from '../../log/view/listing.ts';
import { clearTimer, monotonic, setRepeating, type Timer } from '../../time/host.ts';
import { Pieces } from '../pieces.ts';
import { Channel, erasedAt, type Step, stepOf } from './channel.ts';
import { Rounds } from './rounds.ts';
import { type Missed, type Viewer, Watch, type WatchKeeper } from './watch.ts';

/** Bounds on open watches. */
export interface WatchLimits {
  /** Most watches over all protocols. */
  readonly maxWatches: number;
  /** Most watches of one owner. */
  readonly maxOwnerWatches: number;
}

/** Counters of the watches. */
export interface WatchStatistics {
  /** Open watches. */
  readonly open: number;
  /** Delivered steps, counted for each watch. */
  readonly steps: number;
  /** Watches that were ended because their readers fell behind. */
  readonly cutOff: number;
}

/** The part of a log that can be watched. */
export type WatchedLog = Pick<
  EventLog,
  'list' | 'head' | 'status' | 'recent' | 'onExtended' | 'onRestarted' | 'changed'
>;

/** Most bytes that a reader may be behind. */
const MAX_BEHIND = 1024 * 1024;
/** Milliseconds of silence after which a reader gets a sign of life. */
const QUIET = 15_000;
/** Milliseconds between two checks of all watches for their tokens, silence and lag. One timer serves all. */
const LOOK = 500;

const RESTARTED = new PlantStoreError(
  'OVERLOADED',
  'this instance was cut off for too long to know all changes; resume after the last position',
);

const BEHIND = new PlantStoreError(
  'WATCH_TOO_SLOW',
  'the reader fell too far behind; resume after the last position that you received',
);

/**
 * All watches of an instance, by owner, over all protocols. They get every event through the tail, whichever instance
 * appended it. An event of an owner without watches costs nothing.
 */
export class Watches implements WatchKeeper {
  readonly #log: WatchedLog;
  readonly #limits: WatchLimits;
  #known: number;
  readonly #channels = new Map<string, Channel>();
  readonly #pieces = new Pieces();
  readonly #rounds = new Rounds();
  readonly #stopListening: () => void;
  readonly #watches = new Set<Watch>();
  #steps = 0;
  #cutOff = 0;
  #timer: Timer | undefined;
  /** The error that refuses new watches once closed. */
  #closed: PlantStoreError | undefined;

  constructor(log: WatchedLog, limits: WatchLimits) {
    this.#log = log;
    this.#limits = limits;
    this.#known = log.status.head;
    this.#stopListening = log.onExtended((news) => this.#extended(news));
    log.onRestarted(() => this.#restarted());
    log.changed.addEventListener('abort', () =>
      this.close(new PlantStoreError('STORE_UNAVAILABLE', 'the log was replaced; use another instance')),
    );
  }

  get statistics(): WatchStatistics {
    return { open: this.#watches.size, steps: this.#steps, cutOff: this.#cutOff };
  }

  /** See WatchKeeper. */
  get known(): number {
    return this.#known;
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
    for (const watch of this.#watches) watch.end(why);
  }

  /** What happened in between is unknown here: readers come back, and get the state. */
  #restarted(): void {
    this.#known = this.#log.status.head;
    for (const watch of this.#watches) watch.end(RESTARTED);
  }

  /** See WatchKeeper. */
  async missed(after: number, owner: string): Promise<Missed | undefined> {
    // The position may come from another instance and be ahead of this one.
    await this.#log.head();
    let steps: Step[] = [];
    const events = this.#log.recent(after);
    for (const logged of events ?? []) {
      const event = plantEventOf(logged);
      if (logged.erases?.owner === owner) steps = [...erasedAt(logged.position)];
      else if (event?.owner === owner) steps.push(stepOf({ position: logged.position, event }));
    }
    return events && { steps, upTo: this.#known };
  }

  /** See WatchKeeper. */
  state(owner: string): Promise<Listing> {
    return this.#log.list({ owner, after: undefined, limit: undefined });
  }

  /** See WatchKeeper. */
  turn(owner: string): Promise<void> {
    return this.#pieces.turn(owner);
  }

  /** See WatchKeeper. */
  delivered(steps: number): void {
    this.#steps += steps;
  }

  /** See WatchKeeper. */
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
    this.#known = news.at(-1)!.position;
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
      watch.confirm();
      watch.beat(now - QUIET, now);
      this.#cutOffIfBehind(watch);
    }
  }

  #cutOffIfBehind(watch: Watch): void {
    if (watch.behind <= MAX_BEHIND) return;
    this.#cutOff++;
    watch.end(BEHIND);
  }
}
