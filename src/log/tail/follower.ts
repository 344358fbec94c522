import { Backoff, repeat } from '../../time/backoff.ts';
import { monotonic } from '../../time/host.ts';
import { freshAnswer, pause } from '../../time/pause.ts';
import { shareCalls } from '../../time/share-calls.ts';
import { BrokenChainError, headAfterIntact, verifyKept } from '../event/chain.ts';
import type { LoggedEvent } from '../event/event.ts';
import { BrokenReadModelError, LogReplacedError, type Standing, type Store } from '../store.ts';
import type { Tail } from './tail.ts';

/** Reads without progress after which a missing event counts as a fault of the store. */
const MAX_EMPTY_READS = 3;

/** Milliseconds between two polls for the events of other instances. */
const POLL_INTERVAL = 100;
/** Longest pause between two polls while the store cannot be reached, in milliseconds. */
const MAX_PAUSE = 2_000;

/**
 * Milliseconds for which an instance may go on with what it knew before a repair or an erasure: answer from memory of
 * the rows, and tell watches and readers of the log. A repair and an erasure wait twice as long before they report that
 * they are done.
 */
export const GENERATION_LIMIT = 250;

/**
 * Keeps the tail up to date with the log, including the events of other instances. It verifies that every event
 * continues the chain before anything builds on it. Every sync verifies that the log is still the same one. Once it is
 * not, every operation stops; see `replaced`.
 */
export class Follower {
  /** The log as it is stored. */
  readonly store: Store;
  /** Its end in memory. */
  readonly tail: Tail;
  readonly #tailBytes: number;
  #syncedAt: number | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;
  /**
   * The generation of rows that this instance has seen last, and when it was last asked for. 0: nobody has repaired
   * them.
   */
  #generation = 0;
  #generationAt = Number.NEGATIVE_INFINITY;
  /** When this instance found another generation. */
  #renewedAt = Number.NEGATIVE_INFINITY;
  readonly #replaced = new AbortController();
  /** Aborts with LogReplacedError once it finds the log replaced. Every method then rejects with that error. */
  readonly replaced: AbortSignal = this.#replaced.signal;

  /** `tailBytes`: most bytes of the tail while the read model has what is read. */
  constructor(store: Store, tail: Tail, tailBytes = Number.POSITIVE_INFINITY) {
    this.store = store;
    this.tail = tail;
    this.#tailBytes = tailBytes;
  }

  /** Whether the events that the read model lacks take more than a quarter of the tail. */
  get isFilling(): boolean {
    return this.tail.bytes > this.#tailBytes / 4;
  }

  /** When the last `sync` succeeded, by the monotonic clock. */
  get syncedAt(): number | undefined {
    return this.#syncedAt;
  }

  /** When the last successful check of the head began, by the monotonic clock. */
  get checkedAt(): number {
    return this.#checkedAt;
  }

  /**
   * Resolves when the tail holds everything that any instance acknowledged before the call. Concurrent callers share
   * one read of the head. Rejects when the store cannot be reached, and with LogReplacedError.
   */
  readonly sync: () => Promise<void> = shareCalls(() =>
    this.#unlessReplaced(async () => {
      const began = monotonic();
      const known = this.tail.head;
      const head = await this.store.head();
      verifyKept(known, head);
      await this.reach(head.position);
      // An instance uses rows of an earlier generation for GENERATION_LIMIT, and as long again in what it then does. So
      // from this head on, none says of a position what such rows had.
      if (began >= this.#renewedAt + 2 * GENERATION_LIMIT) this.tail.trustRows();
      this.#checkedAt = began;
      this.#syncedAt = monotonic();
    }),
  );

  /** Reads all events after the tail's head. Concurrent callers share one read that starts after their calls. */
  readonly readOn: () => Promise<void> = shareCalls(() => this.#unlessReplaced(() => this.readAll()));

  /** Like readOn, not shared. Rejects with BrokenChainError itself. */
  async readAll(): Promise<void> {
    while (!(await this.#readIntoTail())) await this.#restartAtCheckpoint();
  }

  /**
   * Reads on. Returns false before an event that was erased, or one whose erasure is complete, and once the tail is
   * full although the read model is ahead of it: see `#restartAtCheckpoint`.
   */
  async #readIntoTail(): Promise<boolean> {
    for await (const batch of this.store.read(this.tail.head.position)) {
      if (!this.#take(batch)) return false;
      if (this.tail.bytes >= this.#tailBytes && (await this.#isOvertaken())) return false;
    }
    return true;
  }

  /** Whether the read model is ahead of the tail. If not, the tail lets go of what the read model has. */
  async #isOvertaken(): Promise<boolean> {
    const checkpoint = await this.store.checkpoint();
    if (checkpoint > this.tail.head.position) return true;
    this.tail.projected(checkpoint);
    return false;
  }

  /**
   * Everything up to the read model's checkpoint is verified, and the tail begins again there.
   *
   * Nobody can tell what an event without content changed, or whom an OwnerErased event ended once its erasure is
   * complete. But contents are removed only when the read model has passed the OwnerErased event. And what an instance
   * missed that was away for long may be more than its memory holds.
   */
  async #restartAtCheckpoint(): Promise<void> {
    const checkpoint = await this.store.checkpoint();
    let head = this.tail.head;
    if (checkpoint <= head.position)
      throw new BrokenReadModelError(
        `the read model is at position ${checkpoint}, although an owner was erased after that`,
        'if an import has ended early, repeat it; otherwise run plantstore audit rebuild',
      );
    for await (const batch of this.store.read(head.position, { to: checkpoint })) {
      for (const event of batch) head = headAfterIntact(head, event);
      this.tail.tellSeen(batch);
    }
    if (head.position < checkpoint) throw beyondEnd(checkpoint);
    if (this.tail.head.position < checkpoint) this.tail.restart(head);
  }

  /** Aborts `replaced` if the error of a read or an append shows that the log was replaced. */
  checkForChange(error: unknown): void {
    if (error instanceof BrokenChainError) this.#replaced.abort(new LogReplacedError(error.message, { cause: error }));
    else if (error instanceof LogReplacedError) this.#replaced.abort(error);
  }

  async #unlessReplaced(work: () => Promise<void>): Promise<void> {
    this.replaced.throwIfAborted();
    try {
      await work();
    } catch (error) {
      this.#checkedAt = Number.NEGATIVE_INFINITY;
      this.checkForChange(error);
      this.replaced.throwIfAborted();
      throw error;
    }
  }

  /** Resolves when the tail reaches a position that is known to be in the log. */
  async reach(position: number): Promise<void> {
    for (let reads = 0; this.tail.head.position < position; reads++) {
      if (reads === MAX_EMPTY_READS)
        throw new Error(`the store reports a log of ${position} events, but does not return them all`);
      await this.readOn();
    }
  }

  /**
   * Resolves with what was read, when the tail reaches where the read model stood: rows of that checkpoint need such a
   * tail on top. `known`: a checkpoint, or the base of the pinned tail, from before the read. If the rows have another
   * generation, what was read before is outdated.
   *
   * Rejects with BrokenReadModelError for a checkpoint that no projector can have left there. Rows of a lower one lack
   * events that the tail no longer holds, and for a higher one the tail would drop events that no row has.
   */
  async reachCheckpoint<Read extends Standing & { generation?: number }>(read: Read, known: number): Promise<Read> {
    const { checkpoint, upTo, generation } = read;
    if (generation !== undefined) this.#record(generation);
    if (checkpoint < known)
      throw new BrokenReadModelError(`the read model was set back from position ${known} to ${checkpoint}`);
    if (upTo > this.tail.head.position) await this.readOn();
    if (upTo > this.tail.head.position) throw beyondEnd(upTo);
    this.tail.projected(checkpoint);
    return read;
  }

  /**
   * Revalidates what this instance remembers of rows: asks the store for their generation, and for the head. Once it
   * resolves, memory of rows may be used, and what was read of an owner may be told. Returns undefined, nearly always,
   * when the store was asked within the last GENERATION_LIMIT milliseconds. While callers keep calling, the store is
   * asked ahead of time. Rejects when the store cannot be reached.
   */
  revalidateRows(): Promise<void> | undefined {
    const age = monotonic() - this.#generationAt;
    if (age >= GENERATION_LIMIT) return this.#askGeneration();
    if (age >= GENERATION_LIMIT / 2) this.#askGeneration().catch(() => {});
    return undefined;
  }

  readonly #askGeneration = shareCalls(() =>
    freshAnswer(GENERATION_LIMIT, async () => {
      const began = monotonic();
      // By the sync, this instance hears of owners who were erased meanwhile, however long it was frozen.
      const [generation] = await Promise.all([this.store.generation(), this.sync()]);
      this.#record(generation);
      this.#generationAt = began;
    }),
  );

  /**
   * Memory of rows ends with their generation, since a repair has changed them. A lower one is that of other rows too.
   */
  #record(generation: number): void {
    if (generation === this.#generation) return;
    this.#generation = generation;
    this.#renewedAt = monotonic();
    this.tail.outdateRows();
  }

  /**
   * Polls until the signal aborts, so that an idle instance also gets new events. Calls `onChange` when the store
   * becomes unreachable (with the fault) and when it becomes reachable (without), also for the first poll. Ends once
   * the log was replaced; the last fault then says so.
   */
  async watch(signal: AbortSignal, onChange: (fault: unknown) => void): Promise<void> {
    let isReachable: boolean | undefined;
    const poll = async () => {
      await this.sync();
      // Also where nobody asks for rows: watches began on some. The projector tells of a fault.
      this.revalidateRows()?.catch(() => {});
      if (isReachable !== true) onChange(undefined);
      isReachable = true;
      await pause(POLL_INTERVAL, signal);
    };
    const onFault = (fault: unknown) => {
      if (isReachable !== false) onChange(fault);
      isReachable = false;
    };
    await repeat(poll, AbortSignal.any([signal, this.replaced]), new Backoff(2 * POLL_INTERVAL, MAX_PAUSE), onFault);
    if (this.replaced.aborted) onChange(this.replaced.reason);
  }

  /** Takes what the tail does not hold yet. Returns false if it ends before an event that the tail cannot take. */
  #take(batch: readonly LoggedEvent[]): boolean {
    let { head } = this.tail;
    const news = batch.filter(({ position }) => position > head.position);
    const end = news.findIndex(isOfErasure);
    const whole = end < 0 ? news : news.slice(0, end);
    for (const event of whole) head = headAfterIntact(head, event);
    this.tail.extend(whole);
    return end < 0;
  }
}

/** Whether an erasure has removed something of the event. */
const isOfErasure = ({ content, type, erases }: LoggedEvent): boolean =>
  content === undefined || (type === 'OwnerErased' && erases === undefined);

const beyondEnd = (position: number) =>
  new BrokenReadModelError(
    `the read model is at position ${position}, but the log ends before that`,
    'restore another backup, or go on without the lost events: plantstore audit export, then audit import into an empty store',
  );
