import type { LoggedEvent } from '../../../src/log/event/event.ts';
import { type EventMessage, eventMessage } from '../../../src/publisher/message.ts';
import type { Published, Topic, TopicSession } from '../../../src/publisher/topic.ts';
import type { Process } from './process.ts';
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';

/** How often a publication goes wrong. */
const FAULTS = 0.02;

const EMPTY: Published = { position: 0, hash: '' };

/** A topic in memory with the promises of its port: one session at a time may publish, each batch in one transaction. */
export class FakeTopic {
  readonly messages: EventMessage[] = [];
  /** Positions of OwnerErased events that it may lack: it has lost them, and their erasures were complete by then. */
  readonly lost = new Set<number>();
  /** Whether publications may go wrong. */
  isCalm = false;
  /** Nothing can be published before this time. */
  awayUntil = 0;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  #end = EMPTY;
  #session = 0;
  /** What it had after each publication, and when. */
  readonly #states: { readonly at: number; readonly messages: readonly EventMessage[]; readonly end: Published }[] = [];
  #events: (() => readonly LoggedEvent[]) | undefined;

  constructor(scheduler: Scheduler, random: Random) {
    this.#scheduler = scheduler;
    this.#random = random;
  }

  /** The last event on the topic. */
  get end(): Published {
    return this.#end;
  }

  /** Takes it back to what it had at a time. `events`: the log at any time. */
  rewind(to: number, events: () => readonly LoggedEvent[]): void {
    const { messages, end } = this.#states.findLast(({ at }) => at <= to) ?? { messages: [], end: EMPTY };
    this.messages.splice(0, Number.POSITIVE_INFINITY, ...messages);
    this.#end = end;
    this.#states.push({ at: this.#scheduler.now, messages, end });
    this.#session++;
    this.#events = events;
  }

  /** The topic as a process reaches it. */
  from(process: Process): Topic {
    return { open: () => this.#call(process, () => this.#open(process)) };
  }

  #open(process: Process): TopicSession {
    const session = ++this.#session;
    return {
      start: this.#end,
      notice: undefined,
      publish: (events) =>
        this.#call(process, () => {
          if (session !== this.#session) throw new Error('another session has begun');
          if (this.awayUntil > this.#scheduler.now) throw new Error('too few brokers are there');
          this.#publish(events);
        }),
      close: () => {},
    };
  }

  #publish(events: readonly LoggedEvent[]): void {
    // From here on the publisher knows what the topic lacks.
    for (const { position, type, erases } of this.#events?.() ?? [])
      if (position > this.#end.position && type === 'OwnerErased' && erases === undefined) this.lost.add(position);
    this.#events = undefined;
    for (const event of events) {
      const message = eventMessage(event);
      if (message !== undefined) this.messages.push(message);
      this.#end = { position: event.position, hash: Buffer.from(event.hash).toString('hex') };
    }
    this.#states.push({ at: this.#scheduler.now, messages: [...this.messages], end: this.#end });
  }

  #call<T>(process: Process, work: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const random = this.#random;
    const fault = !this.isCalm && random.chance(FAULTS) ? random.one(['before', 'after'] as const) : 'none';
    const tell = (settle: () => void) => this.#scheduler.after(random.scaled(0.1, 20), process, settle);
    this.#scheduler.after(random.scaled(0.1, 20), undefined, () => {
      try {
        if (fault === 'before') throw new Error('the broker is away');
        const result = work();
        if (fault === 'after') throw new Error('the answer of the broker is lost');
        tell(() => resolve(result));
      } catch (error) {
        tell(() => reject(error));
      }
    });
    return promise;
  }
}
