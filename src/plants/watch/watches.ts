import type { Principal } from '../../auth/principal.ts';
import { counted } from '../../domain/counted.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import { type LoggedEvent, plantEventOf } from '../../log/event/event.ts';
import { Semaphore } from '../../semaphore.ts';
import { clearTimer, monotonic, nextTurn, setRepeating, type Timer } from '../../time/host.ts';
import { Channel } from './channel.ts';
import { Rounds } from './rounds.ts';
import { type OpenWatches, Watch, type WatchedLog, type WatchReader } from './watch.ts';

interface WatchLimits {
  readonly maxWatches: number;
  readonly maxOwnerWatches: number;
}

/** Most pieces of long answers in a turn of the event loop. */
const MAX_PIECES = 2;
/** Milliseconds between two checks of all watches for their tokens, silence and lag. One timer serves all. */
const CHECK_INTERVAL = 500;

/** Readers come back, and get the state. */
const OUTDATED = new PlantStoreError(
  'OVERLOADED',
  'the plants were repaired, or this instance was cut off for too long to know all changes; start the watch again',
);

const BEHIND = new PlantStoreError(
  'WATCH_TOO_SLOW',
  'the reader fell too far behind; resume after the last position that you received',
);

/** All watches of an instance. The tail gives them every event; one of an owner without watches costs nothing. */
export class Watches implements OpenWatches {
  readonly log: WatchedLog;
  readonly #limits: WatchLimits;
  readonly #channels = new Map<string, Channel>();
  readonly #pieces = new Semaphore({ permits: MAX_PIECES, maxWaiting: Infinity });
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
    log.replaced.addEventListener('abort', () =>
      this.close(new PlantStoreError('STORE_UNAVAILABLE', 'the log was replaced; use another instance')),
    );
  }

  /** Open watches; delivered steps, counted for each watch; watches that ended because their readers fell behind. */
  get statistics() {
    return { open: this.#watches.size, steps: this.#steps, cutOff: this.#cutOff };
  }

  /**
   * Opens a watch of the caller's plants. Begin it, and close it at the end. Throws TOO_MANY_WATCHES when the owner has
   * too many, OVERLOADED when all owners together have too many, and after `close` what that was called with.
   */
  open({ owner, validity }: Principal, reader: WatchReader): Watch {
    if (this.#closed !== undefined) throw this.#closed;
    const channel = this.#channels.get(owner) ?? new Channel(owner);
    if (channel.subscribers.size >= this.#limits.maxOwnerWatches)
      throw new PlantStoreError(
        'TOO_MANY_WATCHES',
        `this owner has ${counted(channel.subscribers.size, 'stream')} open, the maximum; share one, or close one`,
      );
    if (this.#watches.size >= this.#limits.maxWatches)
      throw new PlantStoreError('OVERLOADED', 'too many streams are open on this instance; try again');
    const watch = new Watch(this, channel, validity, reader);
    this.#channels.set(owner, channel);
    channel.subscribers.add(watch);
    this.#watches.add(watch);
    this.#timer ??= setRepeating(() => this.#checkAll(), CHECK_INTERVAL).unref();
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

  async waitForPiece(owner: string): Promise<void> {
    const permit = await this.#pieces.acquire(owner);
    nextTurn(() => permit[Symbol.dispose]());
  }

  mayTell(channel: Channel): boolean {
    const pending = this.log.revalidateRows();
    pending?.then(
      () => this.#rounds.begin(channel),
      () => {},
    );
    return pending === undefined;
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

  #checkAll(): void {
    const now = monotonic();
    for (const watch of this.#watches) {
      if (!watch.check(now)) continue;
      this.#cutOff++;
      watch.end(BEHIND);
    }
  }
}
