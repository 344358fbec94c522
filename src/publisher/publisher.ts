import { headAfter, headAt, isIntact } from '../log/event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent, sizeOf } from '../log/event/event.ts';
import { Lease } from '../log/lease.ts';
import { PUBLISHER_LEASE, type Store, type Unfinished } from '../log/store.ts';
import { asErased, eventAt, intactRange } from '../log/whole-range.ts';
import { Backoff } from '../time/backoff.ts';
import { monotonic } from '../time/host.ts';
import { pause } from '../time/pause.ts';
import { type PublisherStatus, StatusReporter } from './status.ts';
import { MismatchError, type Published, reasonOf, type Topic, type TopicSession } from './topic.ts';

/** Longest pause after a failure, in milliseconds. The first takes a tenth of a second. */
const MAX_PAUSE = 10_000;
/** Milliseconds without an event after which to test the session. */
const IDLE_LIMIT = 10_000;
/** Milliseconds between two polls for new events. */
const POLL_INTERVAL = 50;
/** Milliseconds between two transactions, unless MANY_EVENTS wait: even a small one is expensive for Kafka. */
const TRANSACTION_INTERVAL = 100;
const MANY_EVENTS = 1_000;
/**
 * Most bytes of events in memory for one transaction, of which one may be larger: some 2,500 usual events. Those with
 * the longest texts are a few MB on the wire then, for which a transaction has half a minute.
 */
const MAX_TRANSACTION_BYTES = 4 * 1024 * 1024;
/** Milliseconds between two measurements of the lag. */
const MEASURE_INTERVAL = 1_000;

/** Options of the publisher. */
export interface PublisherOptions {
  /** The log, and the lease shared by all instances. */
  readonly store: Pick<Store, 'head' | 'read' | 'lease' | 'unfinished' | 'erasurePublished'>;
  readonly topic: Topic;
  /** Called for each change of state, and for each new detail. */
  readonly onChange: (status: PublisherStatus) => void;
}

/**
 * Publishes every event of the log to a topic, once and in order, without delaying appends. Its only state is the
 * position and hash of the last event, which the topic keeps in the transaction of that event (`kafka/topics.ts`).
 * After any fault, it continues from there. One instance publishes at a time.
 */
export class Publisher {
  readonly #store: PublisherOptions['store'];
  readonly #topic: Topic;
  readonly #status: StatusReporter;
  readonly #lease: Lease;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  /** Bytes for the next transaction: less after a failure, which may have been too much for a slow Kafka. */
  #enough = MAX_TRANSACTION_BYTES;

  /** Starts immediately. */
  constructor({ store, topic, onChange }: PublisherOptions) {
    this.#store = store;
    this.#topic = topic;
    this.#status = new StatusReporter(onChange);
    this.#lease = new Lease(store, PUBLISHER_LEASE);
    this.#running = this.#lease.whileHeld(
      this.#stop.signal,
      (held) => this.#publishWhile(held),
      (fault) =>
        fault === undefined ? this.#status.enter('standby') : this.#status.enter('degraded', reasonOf(fault)),
    );
  }

  /** The status of publication. */
  status(): PublisherStatus {
    return this.#status.status;
  }

  /** Completes the current batch, and lets another instance take over. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #publishWhile(held: AbortSignal): Promise<void> {
    const ended = new AbortController();
    const measuring = this.#measure(AbortSignal.any([held, ended.signal]));
    const backoff = new Backoff(100, MAX_PAUSE);
    while (!held.aborted) {
      try {
        await this.#publish(held, () => backoff.reset());
      } catch (error) {
        if (held.aborted) break;
        this.#status.enter('degraded', reasonOf(error));
        this.#enough = this.#enough / 4;
        await pause(backoff.next(), held);
        // Another instance may have taken over meanwhile; a new session would fence it.
        if (!(await this.#lease.renew().catch(() => false))) break;
      }
    }
    ended.abort();
    await measuring;
  }

  /** Publishes until the signal aborts or a step fails. Calls `onSuccess` after each success. */
  async #publish(held: AbortSignal, onSuccess: () => void): Promise<void> {
    const session = await this.#topic.open();
    try {
      let head = await this.#headOf(session.start);
      /** The erasures that the topic lacks. Their names are kept no longer than that. */
      let unfinished = await this.#openErasures(head.position);
      const notice = this.#noticeOf(session);
      /** Why an erasure that the topic has cannot be marked as published. Publication goes on. */
      let unmarked: string | undefined;
      const reached = () => {
        this.#status.reached(head.position);
        onSuccess();
        const details = [notice, unmarked].filter((each) => each !== undefined);
        this.#status.enter('publishing', details.join('; ') || undefined);
      };
      this.#status.reached(head.position);
      for (let last = monotonic(), markAt = last; !held.aborted; ) {
        const begun = monotonic();
        if (begun >= markAt) {
          unmarked = await this.#markPublished(head.position);
          markAt = begun + MEASURE_INTERVAL;
        }
        const events = await nextEvents(this.#store, head.position, this.#enough);
        if (events.length === 0 && begun < last + IDLE_LIMIT) {
          reached();
          await pause(POLL_INTERVAL, held);
          continue;
        }
        // Once an erasure has begun, nothing more of its owner from before is published.
        unfinished = await this.#openErasures(head.position, unfinished);
        head = headAfter(head, events);
        // An earlier topic may have had an OwnerErased event, so that the erasure may be complete before this topic
        // gets there: then it must have nothing of the owner from before, and the event with the owner's name.
        const erasures = new Map(unfinished.map((each) => [each.position, each]));
        await session.publish(events.map((event) => erasures.get(event.position) ?? asErased(event, unfinished)));
        last = monotonic();
        this.#enough = Math.min(2 * Math.max(this.#enough, 1), MAX_TRANSACTION_BYTES);
        reached();
        unfinished = unfinished.filter(({ position }) => position > head.position);
        if (events.length < MANY_EVENTS) await pause(begun + TRANSACTION_INTERVAL - last, held);
      }
    } finally {
      session.close();
    }
  }

  /**
   * The erasures after `end`, the last position of the topic: the known ones, and those that have begun since. Marks
   * the latter as not published, so that none is complete before: an earlier topic, or this one before it was restored
   * from a backup, may have had its event.
   */
  async #openErasures(end: number, known: readonly Unfinished[] = []): Promise<readonly Unfinished[]> {
    const unpublished = (await this.#store.unfinished()).filter((each) => each.position > end && isIntact(each));
    for (const { position, erases } of unpublished)
      if (erases.isPublished) await this.#store.erasurePublished(position, false);
    const begun = unpublished.filter(({ position }) => !known.some((each) => each.position === position));
    return [...known, ...begun];
  }

  /**
   * Marks the erasures that are on the topic as published, including those left unmarked by a fault. Returns why it
   * cannot: the store may be away, or its user may not change events.
   */
  async #markPublished(published: number): Promise<string | undefined> {
    try {
      for (const { position, erases } of await this.#store.unfinished())
        if (!erases.isPublished && position <= published) await this.#store.erasurePublished(position, true);
      return undefined;
    } catch (error) {
      return `an erasure stays open, because the store cannot note that the topic has it: ${reasonOf(error)}`;
    }
  }

  /** The head of the log at the end of the topic. Rejects if the topic's last event differs from the log's. */
  async #headOf({ position, hash }: Published): Promise<Head> {
    if (position === 0) return EMPTY_HEAD;
    const event = await eventAt(this.#store, position);
    if (event === undefined)
      throw new MismatchError(
        `the topic ends at position ${position}, beyond the end of the log: it belongs to another log, or the log was restored from a backup`,
      );
    if (Buffer.from(event.hash).toString('hex') !== hash)
      throw new MismatchError(`the event at position ${position} on the topic differs from that in the log`);
    return headAt(event);
  }

  #noticeOf({ start, notice }: TopicSession): string | undefined {
    const before = this.#status.status.published ?? 0;
    if (start.position >= before) return notice;
    const lost = `Kafka has lost the acknowledged events ${start.position + 1} to ${before}; they are being published again`;
    return notice === undefined ? lost : `${lost}; ${notice}`;
  }

  /** Measures the lag until the signal aborts. */
  async #measure(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const { position } = await this.#store.head();
        const after = this.#status.waitingAfter(position);
        this.#status.measured(position, after < position ? (await eventAt(this.#store, after + 1))?.time : undefined);
      } catch {
        // The store is unreachable; the log reports that.
      }
      await pause(MEASURE_INTERVAL, signal);
    }
  }
}

/**
 * The next events of the log after a position, in order, up to the first with which they take `enough` bytes; none at
 * its end. They are few under light load and many while catching up. Ends before an event that the store has lost or
 * whose content was changed, and rejects with BrokenChainError if that is the first.
 */
export async function nextEvents(
  store: Pick<Store, 'read'>,
  after: number,
  enough: number = MAX_TRANSACTION_BYTES,
): Promise<readonly LoggedEvent[]> {
  const events: LoggedEvent[] = [];
  let bytes = 0;
  try {
    for await (const batch of intactRange(store, after))
      for (const event of batch) {
        events.push(event);
        bytes += sizeOf(event);
        if (bytes >= enough) return events;
      }
  } catch (error) {
    if (events.length === 0) throw error;
  }
  return events;
}
