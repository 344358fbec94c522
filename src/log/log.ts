import type { Command, EraseOwner, PlantState } from '../domain/decider.ts';
import type { PlantKey } from '../domain/plant.ts';
import { Backoff, repeat } from '../time/backoff.ts';
import { pause } from '../time/pause.ts';
import { Appender } from './commit/appender.ts';
import { type Cancellation, Committer, type CommitterLimits } from './commit/committer.ts';
import { KnownPlants } from './commit/known-plants.ts';
import { StateReader } from './commit/states.ts';
import { type Erased, type EraseRequest, eraseOwner } from './erasure/eraser.ts';
import { type EraseProgress, Finisher } from './erasure/finisher.ts';
import { BrokenChainError, headAt, verifyContent } from './event/chain.ts';
import { type Committed, EMPTY_HEAD, type Head, type LoggedEvent } from './event/event.ts';
import { Forwarding, type ForwardingOptions } from './forward/forwarding.ts';
import type { Receiver } from './forward/receiver.ts';
import type { LogObserver, LogStatus } from './observer.ts';
import type { BrokenReadModelError, Store } from './store.ts';
import { Follower } from './tail/follower.ts';
import { type ReadOptions, readLog } from './tail/read.ts';
import { Tail } from './tail/tail.ts';
import { unavailable } from './unavailable.ts';
import { ListCache } from './view/list-cache.ts';
import type { Listing, ListQuery } from './view/listing.ts';
import { Lists } from './view/lists.ts';
import { Projector } from './view/projector.ts';
import { eventAt } from './whole-range.ts';

/** Bounds of a log. */
export interface LogLimits extends CommitterLimits {
  /** Most long lists that one owner may read at a time. */
  readonly lists: number;
  /** Most owners whose plant ids are known without a read. */
  readonly knownOwners: number;
  /** Most bytes of events that are kept for readers that were away, although the read model has them. */
  readonly recentBytes: number;
  /** Most bytes of remembered lists. 0: none. */
  readonly listBytes: number;
}

const DEFAULT_LIMITS: LogLimits = {
  queue: 8_192,
  batch: 512,
  tailBytes: 128 * 1024 * 1024,
  commitLimit: 10_000,
  lists: 32,
  knownOwners: 10_000,
  recentBytes: 32 * 1024 * 1024,
  listBytes: 64 * 1024 * 1024,
};

/** Milliseconds between two checks for abandoned erasures. */
const ERASURE_INTERVAL = 2_000;

/** Options of a log. */
export interface EventLogOptions {
  readonly limits?: Partial<LogLimits>;
  /** Called with every fault that no caller gets, for the service's log. */
  readonly onFault: (error: unknown) => void;
  /** Called when the store becomes unreachable (with the fault) and when it is reachable again (with undefined). */
  readonly onReachable?: (fault: unknown) => void;
  /**
   * Called when the read model cannot be used until it is repaired (with the fault), and once it can (with undefined).
   */
  readonly onReadModel?: (fault: BrokenReadModelError | undefined) => void;
  /** Whether this process publishes. Then, and once any has, an erasure is complete only once the topic has it. */
  readonly publishes?: boolean;
  readonly observer?: LogObserver;
}

/** The event log of one instance: accepts commands, answers lists, and advances the read model. */
export class EventLog {
  readonly #committer: Committer;
  readonly #knownPlants: KnownPlants;
  readonly #listCache: ListCache;
  readonly #lists: Lists;
  readonly #projector: Projector;
  readonly #follower: Follower;
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;
  readonly #limits: LogLimits;
  readonly #finisher: Finisher;
  readonly #onFault: (error: unknown) => void;
  #finishing: Promise<void> | undefined;
  #forwarding: Forwarding | undefined;

  constructor(follower: Follower, options: EventLogOptions) {
    const { limits, onFault, onReachable, onReadModel, publishes = false, observer } = options;
    this.#onFault = onFault;
    this.#follower = follower;
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    this.#listCache = new ListCache(this.#limits.listBytes);
    this.#lists = new Lists(follower, this.#listCache, this.#limits.lists);
    this.#knownPlants = new KnownPlants(follower, this.#limits.knownOwners);
    const states = new StateReader(follower, this.#knownPlants);
    this.#committer = new Committer(follower, states, new Appender(follower, onFault), this.#limits, observer);
    this.#finisher = new Finisher(follower.store, publishes, this.#stop.signal);
    this.#projector = new Projector(follower, onFault, onReadModel ?? (() => {}));
    follower.replaced.addEventListener('abort', () => {
      this.#projector.stop();
      // It answers nothing more, and so must not write for the others.
      void this.#forwarding?.close();
    });
    this.#running = Promise.all([this.#projector.run(), follower.watch(this.#stop.signal, onReachable ?? (() => {}))]);
  }

  /** Aborts with LogReplacedError once it finds that the log was replaced. The log then answers nothing more. */
  get replaced(): AbortSignal {
    return this.#follower.replaced;
  }

  /** The current state of the log. */
  get status(): LogStatus {
    const { head, checkpoint, size, bytes } = this.#follower.tail;
    return {
      head: head.position,
      time: head.time,
      checkpoint,
      pending: this.#committer.pending + (this.#forwarding?.pending ?? 0),
      tail: { events: size, bytes, most: this.#limits.tailBytes },
      syncedAt: this.#follower.syncedAt,
      role: this.#forwarding?.role,
      erasures: this.#finisher.pending,
    };
  }

  /** See Committer.submit. Goes through the writer if this instance has joined others and is not the writer. */
  submit(command: Command, cancellation?: Cancellation): Promise<Committed> {
    return (this.#forwarding ?? this.#committer).submit(command, cancellation);
  }

  /** See eraseOwner. */
  erase(request: EraseRequest): AsyncGenerator<EraseProgress | Erased> {
    const submit = (command: EraseOwner) => this.submit(command);
    return eraseOwner({ follower: this.#follower, finisher: this.#finisher, submit }, request);
  }

  /**
   * From now on completes the unfinished erasures of all instances. Calls back when one of them cannot go on; a store
   * that cannot be asked for them is a fault of the store.
   */
  finishErasures(onStuck: (error: unknown) => void): void {
    this.#finishing ??= this.#finishErasures(onStuck);
  }

  async #finishErasures(onStuck: (error: unknown) => void): Promise<void> {
    const { signal } = this.#stop;
    const finish = async () => {
      const unfinished = await this.#finisher.findUnfinished();
      try {
        if (unfinished.length > 0) await this.#finisher.finish();
        await this.#follower.store.cleared();
        // Throws for an erasure that does not verify, which the finisher leaves out.
        for (const each of unfinished) verifyContent(each);
      } catch (error) {
        if (!signal.aborted) onStuck(error);
      }
      await pause(ERASURE_INTERVAL, signal);
    };
    await repeat(finish, signal, new Backoff(ERASURE_INTERVAL, ERASURE_INTERVAL), this.#onFault);
  }

  /**
   * Calls back with each OwnerErased event: everything that is remembered of owners outside the log must be forgotten.
   */
  onErased(listener: (position: number, events: number) => void): void {
    this.#follower.tail.onSeen((news) => {
      for (const { position, event } of news) if (event?.type === 'OwnerErased') listener(position, event.erased);
    });
  }

  /**
   * Joins the other instances of the log: from now on one instance writes, and the others forward their commands to it;
   * see Forwarding. Returns the receiver of their commands. Call it once only.
   */
  join(options: ForwardingOptions): Receiver {
    const { commitLimit } = this.#limits;
    const parts = { follower: this.#follower, committer: this.#committer, commitLimit };
    this.#forwarding = new Forwarding(parts, options);
    return this.#forwarding.receiver;
  }

  /** Gives up being the writer for good; see Forwarding.handOn. */
  async handOn(): Promise<void> {
    await this.#forwarding?.handOn();
  }

  /** See Lists.list. */
  list(query: ListQuery): Promise<Listing> {
    return this.#lists.list(query);
  }

  /** See Lists.get. */
  get(key: PlantKey): Promise<PlantState> {
    return this.#lists.get(key);
  }

  /** See Tail.onExtended. */
  onExtended(listener: (news: readonly LoggedEvent[]) => void): () => void {
    return this.#follower.tail.onExtended(listener);
  }

  /** See Tail.onRowsOutdated. */
  onRowsOutdated(listener: () => void): () => void {
    return this.#follower.tail.onRowsOutdated(listener);
  }

  /** See Follower.revalidateRows. Rejects with STORE_UNAVAILABLE. */
  revalidateRows(): Promise<void> | undefined {
    return this.#follower.revalidateRows()?.catch((error) => {
      throw unavailable(error);
    });
  }

  /** See Tail.recent. */
  recent(after: number): readonly LoggedEvent[] | undefined {
    return this.#follower.tail.recent(after);
  }

  /** See ListCache.statistics. */
  get listCache() {
    return this.#listCache.statistics;
  }

  /** The log's end, including everything acknowledged before the call. Rejects with STORE_UNAVAILABLE. */
  async head(): Promise<Head> {
    try {
      await this.#follower.sync();
      return this.#follower.tail.head;
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** The events after a position; see readLog. */
  read(after: number, options: ReadOptions = {}): AsyncGenerator<readonly LoggedEvent[]> {
    return readLog(this.#follower, after, options);
  }

  /** Answers the accepted commands, ends the projector, and closes the store. */
  async close(): Promise<void> {
    await this.#forwarding?.close();
    await this.#committer.close();
    this.#projector.stop();
    this.#stop.abort();
    await Promise.all([this.#running, this.#knownPlants.close(), this.#finishing]);
    await this.#finisher.close();
    await this.#follower.store.close();
  }
}

/**
 * Opens the log on a store: reads the events after the checkpoint and checks that they continue the chain, and that
 * their content is what was written. Rejects with BrokenChainError when they do not.
 */
export async function openLog(store: Store, options: EventLogOptions): Promise<EventLog> {
  const { recentBytes, tailBytes } = { ...DEFAULT_LIMITS, ...options.limits };
  const tail = new Tail(await headOfCheckpoint(store), recentBytes, options.onFault);
  const follower = new Follower(store, tail, tailBytes);
  await follower.readAll();
  await follower.revalidateRows();
  return new EventLog(follower, options);
}

async function headOfCheckpoint(store: Store): Promise<Head> {
  const position = await store.checkpoint();
  if (position === 0) return EMPTY_HEAD;
  const event = await eventAt(store, position);
  if (event !== undefined) return headAt(event);
  const end = (await store.head()).position;
  throw new BrokenChainError(
    Math.min(end + 1, position),
    `missing, although the read model is at position ${position}`,
  );
}
