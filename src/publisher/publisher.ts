import { randomUUID } from 'node:crypto';
import { headAt, verifyNext } from '../log/event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent } from '../log/event/event.ts';
import type { Store } from '../log/store.ts';
import { Backoff } from '../time/backoff.ts';
import { Lease } from '../time/lease.ts';
import { pause } from '../time/pause.ts';
import { follow } from './follow.ts';
import { readAhead } from './read-ahead.ts';
import { type PublisherStatus, StatusKeeper } from './status.ts';
import { type Published, type Session, type Topic, TopicMismatchError } from './topic.ts';

/** Longest pause after a failure, in milliseconds; the first is a tenth of a second. */
const MAX_PAUSE = 10_000;
/** Milliseconds without an event after which the session is tried. */
const IDLE = 10_000;
/**
 * Milliseconds from one transaction to the next, unless that many events wait: a transaction is much work for Kafka, however
 * small, and at most loads the cores are better used by those who wait for an answer.
 */
const PACE = 100;
const MANY = 1_000;
/** Milliseconds between two measurements of the lag. */
const MEASURE = 1_000;

/** What the publisher needs. */
export interface PublisherOptions {
  /** The log, and the lease that all instances share. */
  readonly store: Pick<Store, 'head' | 'read' | 'lease' | 'erasures' | 'erasurePublished'>;
  readonly topic: Topic;
  /** Hears of each change of state, and of each new detail. */
  readonly onChange: (status: PublisherStatus) => void;
}

/**
 * Publishes every event of the log to a topic, each once and in order, and never holds up who appends. It has nothing but a
 * position, which the topic itself keeps: after any fault it asks there where to go on. One instance at a time publishes.
 */
export class Publisher {
  readonly #store: PublisherOptions['store'];
  readonly #topic: Topic;
  readonly #status: StatusKeeper;
  readonly #lease: Lease;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  /** Starts at once. */
  constructor({ store, topic, onChange }: PublisherOptions) {
    this.#store = store;
    this.#topic = topic;
    this.#status = new StatusKeeper(onChange);
    const holder = randomUUID();
    this.#lease = new Lease((milliseconds) => store.lease('publisher', holder, milliseconds));
    this.#running = this.#lease.whileHeld(
      this.#stop.signal,
      (held) => this.#whileHeld(held),
      () => this.#status.enter('standby'),
    );
  }

  /** How publication stands. */
  stats(): PublisherStatus {
    return this.#status.status;
  }

  /** Finishes what is being published, and lets another instance go on. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #whileHeld(held: AbortSignal): Promise<void> {
    const ended = new AbortController();
    const measuring = this.#measure(AbortSignal.any([held, ended.signal]));
    const backoff = new Backoff(100, MAX_PAUSE);
    while (!held.aborted) {
      try {
        await this.#publish(held, () => backoff.reset());
      } catch (error) {
        if (held.aborted) break;
        this.#status.enter('degraded', reasonOf(error));
        await pause(backoff.next(), held);
        // Another instance may have taken over meanwhile, which a new session would throw out.
        if (!(await this.#lease.renew())) break;
      }
    }
    ended.abort();
    await measuring;
  }

  /** Publishes until the signal aborts or something fails. Tells of each success. */
  async #publish(held: AbortSignal, onSuccess: () => void): Promise<void> {
    const session = await this.#topic.open();
    const reading = new AbortController();
    try {
      let head = await this.#headOf(session.start);
      const notice = this.#noticeOf(session);
      const reached = () => {
        this.#status.reached(head.position);
        onSuccess();
        this.#status.enter('publishing', notice);
      };
      if ((await this.#store.head()).position === head.position) reached();
      else this.#status.reached(head.position);
      const signal = AbortSignal.any([held, reading.signal]);
      for await (const events of readAhead(follow(this.#store, head.position, signal), IDLE)) {
        if (held.aborted) return;
        const begun = performance.now();
        head = verified(head, events);
        const erased = new Map((await this.#store.erasures()).map(({ eventId, owner }) => [eventId, owner]));
        await session.publish(erased.size === 0 ? events : await this.#again(events), erased);
        reached();
        if (events.length < MANY) await pause(begun + PACE - performance.now(), held);
      }
    } finally {
      reading.abort();
      session.close();
    }
  }

  /** The same events as they are now: contents may have been erased since they were read. */
  async #again(events: readonly LoggedEvent[]): Promise<readonly LoggedEvent[]> {
    const [first, last] = [events.at(0), events.at(-1)];
    if (first === undefined || last === undefined) return events;
    const again: LoggedEvent[] = [];
    for await (const batch of this.#store.read(first.position - 1, { to: last.position })) again.push(...batch);
    return again.filter(({ position }) => position <= last.position);
  }

  /** Tells the store which erasures the topic has, however that was left at the last fault. */
  async #tellErasures(published: number): Promise<void> {
    for (const { eventId, erasedBy, isPublished } of await this.#store.erasures())
      if (!isPublished && erasedBy !== undefined && erasedBy <= published) await this.#store.erasurePublished(eventId);
  }

  /** The head of the log where the topic ends. The event there has to be the log's own. */
  async #headOf({ position, hash }: Published): Promise<Head> {
    if (position === 0) return EMPTY_HEAD;
    const event = await this.#at(position);
    if (event === undefined)
      throw new TopicMismatchError(
        `the topic ends at position ${position}, which the log does not reach: it belongs to another log, or the log was restored from a backup`,
      );
    if (Buffer.from(event.hash).toString('hex') !== hash)
      throw new TopicMismatchError(`the event at position ${position} is another one on the topic than in the log`);
    return headAt(event);
  }

  #noticeOf({ start, notice }: Session): string | undefined {
    const before = this.#status.published ?? 0;
    if (start.position >= before) return notice;
    const lost = `Kafka has lost the events ${start.position + 1} to ${before}, which it had acknowledged; they are published again`;
    return notice === undefined ? lost : `${lost}; ${notice}`;
  }

  /** Measures the lag until the signal aborts. */
  async #measure(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const { position } = await this.#store.head();
        const published = this.#status.published;
        if (published !== undefined) await this.#tellErasures(published);
        const waiting = published !== undefined && published < position;
        this.#status.measured(position, waiting ? (await this.#at(published + 1))?.time : undefined);
      } catch {
        // The store cannot be reached, which its own part of the service reports.
      }
      await pause(MEASURE, signal);
    }
  }

  async #at(position: number): Promise<LoggedEvent | undefined> {
    for await (const [event] of this.#store.read(position - 1, { to: position })) return event;
    return undefined;
  }
}

/** The head after these events. Throws BrokenChainError unless they continue the chain. */
function verified(head: Head, events: readonly LoggedEvent[]): Head {
  let last = head;
  for (const event of events) {
    verifyNext(last, event);
    last = headAt(event);
  }
  return last;
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
