import { monotonic } from '../../time/host.ts';
import { Pace } from '../../time/pause.ts';
import { shareCalls } from '../../time/share-calls.ts';
import { isIntact } from '../event/chain.ts';
import type { LoggedEvent } from '../event/event.ts';
import { Lease } from '../lease.ts';
import type { LogStatus } from '../observer.ts';
import { PUBLISHER_LEASE, type Store, type Unfinished } from '../store.ts';

/** The progress of an erasure. */
export interface EraseProgress {
  /**
   * Counting events, appending the event, waiting for the read model, removing contents, clearing unused space of them.
   */
  readonly step: 'count' | 'event' | 'read_model' | 'contents' | 'clear';
  /** Number of the owner's events that are done, where the step counts them. */
  readonly done?: number;
  readonly total?: number;
  /** Position of the OwnerErased event and key of its subject, once, when it was appended. */
  readonly appended?: { readonly position: number; readonly key: Uint8Array };
}

/** Number of events that lose their content by an OwnerErased event. */
export const eventsErased = (logged: LoggedEvent | undefined): number =>
  logged?.event?.type === 'OwnerErased' ? logged.event.erased : 0;

/**
 * Completes erasures: whoever finds OwnerErased events that still have `erases` removes the contents of the owners'
 * earlier events, clears unused space once for all of them, waits for the topic, and removes `erases`.
 *
 * Every step concerns earlier positions only, and each can be repeated. So one that comes late does no harm, and the
 * lease only keeps two instances from doing the same.
 */
export class Finisher {
  readonly #store: Store;
  /** Whether an erasure waits for the topic. Stays true once any process has published the log. */
  #publishes: boolean;
  readonly #signal: AbortSignal | undefined;
  readonly #lease: Lease;
  #pending: LogStatus['erasures'] = { count: 0, since: undefined };
  #running: Promise<void> | undefined;
  /** The oldest unfinished erasure, and when it was first seen. */
  #oldest: { readonly position: number | undefined; readonly since: number } = { position: undefined, since: 0 };
  /** What is being done, by the position of OwnerErased. */
  readonly #progress = new Map<number, EraseProgress>();

  /**
   * `publishes`: an erasure is complete only once the topic has its event. So it is, whatever this process was told,
   * once any process has published the log. The signal ends the work.
   */
  constructor(store: Store, publishes: boolean, signal?: AbortSignal) {
    this.#store = store;
    this.#publishes = publishes;
    this.#signal = signal;
    this.#lease = new Lease(store, 'erasure');
  }

  /** What `findUnfinished` found last. */
  get pending(): LogStatus['erasures'] {
    return this.#pending;
  }

  /** What is being done here for the OwnerErased event at a position. Undefined: nothing now. */
  progress(position: number): EraseProgress | undefined {
    return this.#progress.get(position);
  }

  /** Whether only the topic is missing. */
  waitsForTopic({ erases: { isCleared, isPublished } }: Unfinished): boolean {
    return isCleared && this.#publishes && !isPublished;
  }

  /** Looks for the unfinished erasures of all instances. Callers share one search, which begins after their calls. */
  readonly findUnfinished: () => Promise<readonly Unfinished[]> = shareCalls(() => this.#findUnfinished());

  async #findUnfinished(): Promise<readonly Unfinished[]> {
    const unfinished = await this.#store.unfinished();
    const [oldest] = unfinished;
    if (oldest?.position !== this.#oldest.position) this.#oldest = { position: oldest?.position, since: monotonic() };
    this.#pending = { count: unfinished.length, since: oldest && this.#oldest.since };
    return unfinished;
  }

  /**
   * Takes all erasures as far as they go now, unless another instance does. Callers at a time share the work, which
   * begins after their calls. Leaves out erasures that `verifyContent` refuses: their `erases` does not name the owner
   * whom they erased.
   */
  readonly finish: () => Promise<void> = shareCalls(() => {
    this.#running = this.#finish().finally(() => {
      this.#progress.clear();
      // Also when it may not erase: another instance may.
      return this.#lease.giveBack();
    });
    return this.#running;
  });

  async #finish(): Promise<void> {
    const unfinished = await this.findUnfinished();
    if (unfinished.length > 0) await this.#askPublished();
    const checkpoint = await this.#store.checkpoint();
    const reached = unfinished.filter((each) => each.position <= checkpoint && !this.waitsForTopic(each));
    const ready = reached.filter(isIntact);
    if (ready.length === 0 || !(await this.#lease.has())) return;
    const removed = ready.filter(({ erases }) => !erases.isCleared);
    const pace = new Pace();
    // In order of position: an event without content names the erasure that removed it, the first one after it.
    for (const each of removed) await this.#remove(each, pace);
    for (const { position } of removed) this.#progress.set(position, { step: 'clear' });
    if (removed.length > 0)
      for await (const _ of this.#store.clearErased(removed.map(({ position }) => position))) await this.#goOn(pace);
    // Asked again: a publisher that has started since may have published contents before they were removed.
    await this.#askPublished();
    const complete = ready.filter(({ erases }) => erases.isPublished || !this.#publishes);
    if (complete.length === 0) return;
    // `erases` goes last: until then everybody sees that the erasure is not complete.
    await this.#store.cleared();
    const positions = complete.map(({ position }) => position);
    await this.#store.endErasures(positions, this.#publishes);
  }

  async #askPublished(): Promise<void> {
    this.#publishes ||= await this.#store.wasLeased(PUBLISHER_LEASE);
  }

  async #remove(erasure: Unfinished, pace: Pace): Promise<void> {
    const { position, erases } = erasure;
    for await (const done of this.#store.eraseContents(erases.owner, position)) {
      this.#progress.set(position, { step: 'contents', done, total: eventsErased(erasure) });
      await this.#goOn(pace);
    }
  }

  async #goOn(pace: Pace): Promise<void> {
    await pace.rest(this.#signal);
    this.#signal?.throwIfAborted();
    await this.#lease.has();
  }

  /** Resolves when nothing is done any more. */
  async close(): Promise<void> {
    await this.#running?.catch(() => {});
  }
}
