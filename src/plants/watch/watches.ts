import type { Principal } from '../../auth/principal.ts';
import { counted } from '../../counted.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import { type LoggedEvent, plantEventOf } from '../../log/event/event.ts';
import { clearTimer, monotonic, setRepeating, type Timer } from '../../time/host.ts';
import { Pieces } from '../pieces.ts';
import { Channel } from './channel.ts';
import { Rounds } from './rounds.ts';
import { type Viewer, Watch, type WatchedLog, type WatchKeeper } from './watch.ts';

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

/** Most bytes that a reader may be behind. */
const MAX_BEHIND = 1024 * 1024;
/** Milliseconds of silence after which a reader gets a sign of life. */
const QUIET = 15_000;
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

/**
 * All watches of an instance, by owner, over all protocols. They get every event through the tail, whichever instance
 * appended it. An event of an owner without watches costs nothing.
 */
export class Watches implements WatchKeeper {
  /** See WatchKeeper. */
  readonly log: WatchedLog;
  readonly #limits: WatchLimits;
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
    this.log = log;
    this.#limits = limits;
    this.#stopListening = log.onExtended((news) => this.#extended(news));
    log.onRowsOutdated(() => this.#end(OUTDATED));
    log.changed.addEventListener('abort', () =>
      this.close(new PlantStoreError('STORE_UNAVAILABLE', 'the log was replaced; use another instance')),
    );
  }

  get statistics(): WatchStatistics {
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

  /** See WatchKeeper. */
  turn(owner: string): Promise<void> {
    return this.#pieces.turn(owner);
  }

  /** See WatchKeeper. */
  mayTell(channel: Channel): boolean {
    const look = this.log.lookAtRows();
    look?.then(
      () => this.#rounds.begin(channel),
      () => {},
    );
    return look === undefined;
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
      // What could not be told while the store was away.
      if (watch.behind > 0) watch.deliver();
      this.#cutOffIfBehind(watch);
    }
  }

  #cutOffIfBehind(watch: Watch): void {
    if (watch.behind <= MAX_BEHIND) return;
    this.#cutOff++;
    watch.end(BEHIND);
  }
}
