import { randomUUID } from 'node:crypto';
import type { Command, PlantState } from '../domain/decider.ts';
import type { PlantKey } from '../domain/plant.ts';
import { Backoff } from '../time/backoff.ts';
import { pause } from '../time/pause.ts';
import { repeat } from '../time/repeat.ts';
import { Appender } from './commit/appender.ts';
import { type Cancellation, Committer, type CommitterLimits } from './commit/committer.ts';
import { StateReader } from './commit/states.ts';
import { type Erased, type EraseProgress, type EraseRequest, Eraser } from './erasure/eraser.ts';
import { BrokenChainError, headAt, verifyNext } from './event/chain.ts';
import { type Committed, EMPTY_HEAD, type Head, type LoggedEvent } from './event/event.ts';
import { Forwarding, type ForwardingOptions } from './forward/forwarding.ts';
import type { Taker } from './forward/taker.ts';
import type { LogObserver, LogStatus } from './observer.ts';
import type { Store } from './store.ts';
import { Follower } from './tail/follower.ts';
import { type ReadOptions, readLog } from './tail/read.ts';
import { Tail } from './tail/tail.ts';
import { TreeBuilder } from './tree/builder.ts';
import { unavailable } from './unavailable.ts';
import { Generation } from './view/generation.ts';
import { ListCache, type ListCacheStatistics } from './view/list-cache.ts';
import type { Listing, ListQuery } from './view/listing.ts';
import { Lists } from './view/lists.ts';
import { Projector } from './view/projector.ts';

/** Bounds of a log. */
export interface LogLimits extends CommitterLimits {
  /** Most long lists that one owner may be reading at once. */
  readonly lists: number;
}

/** Bounds that hold unless others are given. */
export const DEFAULT_LIMITS: LogLimits = {
  queue: 8_192,
  batch: 512,
  tailBytes: 128 * 1024 * 1024,
  commitLimit: 10_000,
  lists: 32,
};

/** Most bytes of lists to remember, unless told otherwise. */
export const DEFAULT_LIST_CACHE = 64 * 1024 * 1024;

/** Milliseconds between two looks for erasures that somebody left. */
const ERASURES = 2_000;

/** How to run a log. */
export interface EventLogOptions {
  readonly limits?: Partial<LogLimits>;
  /** Most bytes of lists to remember; 0: none. 64 MiB unless told. */
  readonly listCacheBytes?: number;
  /** Hears of every fault of the store that an append or the projector meets and deals with: for the service's log. */
  readonly onFault: (error: unknown) => void;
  /** Hears when the store cannot be reached (with the fault) and when it can again (with undefined). */
  readonly onReachable?: (fault: unknown) => void;
  readonly observer?: LogObserver;
}

/** The event log of one instance: takes commands, answers lists, keeps the read model moving. */
export class EventLog {
  readonly #store: Store;
  readonly #committer: Committer;
  readonly #states: StateReader;
  readonly #listCache: ListCache;
  readonly #lists: Lists;
  readonly #projector: Projector;
  readonly #treeBuilder: TreeBuilder;
  readonly #tail: Tail;
  readonly #follower: Follower;
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;
  readonly #commitLimit: number;
  readonly #eraser: Eraser;
  #finishing: Promise<void> | undefined;
  #forwarding: Forwarding | undefined;

  constructor(store: Store, tail: Tail, options: EventLogOptions) {
    const { limits, listCacheBytes, onFault, onReachable, observer } = options;
    this.#store = store;
    this.#tail = tail;
    this.#follower = new Follower(store, tail);
    const bounds = { ...DEFAULT_LIMITS, ...limits };
    this.#listCache = new ListCache(listCacheBytes ?? DEFAULT_LIST_CACHE);
    const generation = new Generation(store);
    this.#lists = new Lists(store, tail, this.#follower, generation, this.#listCache, bounds.lists);
    this.#states = new StateReader(store, tail, this.#follower, generation);
    const appender = new Appender(store, tail, this.#follower, onFault);
    this.#commitLimit = bounds.commitLimit;
    this.#committer = new Committer(tail, this.#states, this.#follower, appender, bounds, observer);
    this.#eraser = new Eraser({ store, tail, follower: this.#follower, submit: (command) => this.#submit(command) });
    this.#projector = new Projector(store, tail, randomUUID(), onFault);
    this.#treeBuilder = new TreeBuilder(store, tail, () => this.#projector.leads(), onFault);
    this.#follower.changed.addEventListener('abort', () => {
      this.#projector.stop();
      this.#treeBuilder.stop();
    });
    this.#running = Promise.all([
      this.#projector.run(),
      this.#treeBuilder.run(),
      this.#follower.watch(this.#stop.signal, onReachable ?? (() => {})),
    ]);
  }

  /** Aborts, with LogChangedError, once it finds that the log was replaced: it then answers nothing more. */
  get changed(): AbortSignal {
    return this.#follower.changed;
  }

  /** How it stands now. */
  get status(): LogStatus {
    const { head, checkpoint, size, bytes } = this.#tail;
    return {
      head: head.position,
      checkpoint,
      pending: this.#committer.pending + (this.#forwarding?.pending ?? 0),
      tail: { events: size, bytes },
      syncedAt: this.#follower.syncedAt,
      role: this.#forwarding?.role,
      erasures: this.#eraser.pending,
    };
  }

  /** See Committer.submit; by way of the writer, once this instance has joined others and another is the writer. */
  submit(command: Command, cancellation?: Cancellation): Promise<Committed> {
    const refusal = this.#eraser.refusal(command);
    return refusal === undefined ? this.#submit(command, cancellation) : Promise.reject(refusal);
  }

  /** See Eraser.erase. */
  erase(request: EraseRequest, isPublished: boolean): AsyncGenerator<EraseProgress | Erased> {
    return this.#eraser.erase(request, isPublished);
  }

  /** From now on does what is left to do of the erasures of all instances, whoever began them. Faults are reported. */
  finishErasures(onFault: (error: unknown) => void): void {
    this.#finishing ??= this.#finishErasures(onFault);
  }

  async #finishErasures(onFault: (error: unknown) => void): Promise<void> {
    const { signal } = this.#stop;
    const finish = async () => {
      for await (const _ of this.#eraser.finish()) if (signal.aborted) break;
      await pause(ERASURES, signal);
    };
    await repeat(finish, signal, new Backoff(ERASURES, ERASURES), onFault);
  }

  /** Calls back with each OwnerErased event: whatever is remembered of owners has to be forgotten. */
  onErased(listener: (position: number, events: number) => void): void {
    this.#tail.onExtended((news) => {
      for (const { position, event } of news) if (event?.type === 'OwnerErased') listener(position, event.erased);
    });
  }

  #submit(command: Command, cancellation?: Cancellation): Promise<Committed> {
    return (this.#forwarding ?? this.#committer).submit(command, cancellation);
  }

  /**
   * From now on one instance of the log writes, and the others forward their commands to it; see Forwarding. Returns what takes
   * those of the others. Once only.
   */
  join(options: ForwardingOptions): Taker {
    this.#forwarding = new Forwarding(
      {
        store: this.#store,
        tail: this.#tail,
        follower: this.#follower,
        committer: this.#committer,
        commitLimit: this.#commitLimit,
      },
      options,
    );
    return this.#forwarding.taker;
  }

  /** Leaves it to another instance to write, if this one did. Resolves when what was taken from others is answered. */
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
    return this.#tail.onExtended(listener);
  }

  /** The last events of the log: those that memory holds anyway. */
  held(): readonly LoggedEvent[] {
    return this.#tail.after(this.#tail.base, this.#tail.size);
  }

  /** What the cache of lists did and holds. */
  get listCache(): ListCacheStatistics {
    return this.#listCache.statistics;
  }

  /** The end of the log, no older than anything acknowledged before the call. Rejects with STORE_UNAVAILABLE. */
  async head(): Promise<Head> {
    try {
      await this.#follower.sync();
      return this.#tail.head;
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** The events after a position; see read.ts. */
  read(after: number, options: ReadOptions = {}): AsyncGenerator<readonly LoggedEvent[]> {
    return readLog(this.#store, this.#tail, this.#follower, after, options);
  }

  /** Answers what was taken, ends the projector, and closes the store. */
  async close(): Promise<void> {
    await this.#forwarding?.close();
    await this.#committer.close();
    this.#projector.stop();
    this.#treeBuilder.stop();
    this.#stop.abort();
    await Promise.all([this.#running, this.#states.close(), this.#finishing]);
    await this.#eraser.close();
    await this.#store.close();
  }
}

/**
 * Opens the log on a store: reads the events after the checkpoint and checks that they continue the chain. Rejects with
 * BrokenChainError when the log is not fit to be built on.
 */
export async function openLog(store: Store, options: EventLogOptions): Promise<EventLog> {
  const checkpoint = await store.checkpoint();
  let tail = new Tail(EMPTY_HEAD);
  let head: Head = EMPTY_HEAD;
  for await (const batch of store.read(Math.max(checkpoint - 1, 0))) {
    for (const event of batch) {
      if (event.position > checkpoint) verifyNext(head, event);
      head = headAt(event);
      if (event.position === checkpoint) tail = new Tail(head);
    }
    tail.extend(batch);
  }
  if (head.position < checkpoint)
    throw new BrokenChainError(head.position + 1, `missing, yet the read model stands at ${checkpoint}`);
  return new EventLog(store, tail, options);
}
