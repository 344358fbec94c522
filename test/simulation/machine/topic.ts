import type { LoggedEvent } from '../../../src/log/event/event.ts';
import { type EventMessage, eventMessage } from '../../../src/publisher/message.ts';
import type { Published, Topic, TopicSession } from '../../../src/publisher/topic.ts';
import type { Process } from './process.ts';
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';

/** How often a publication goes wrong. */
const FAULTS = 0.02;

/**
 * A topic in memory with the promises of its port: one session at a time may publish, each batch in one transaction.
 */
export class FakeTopic {
  readonly messages: EventMessage[] = [];
  /** Whether publications may go wrong. */
  isCalm = false;
  /** Nothing can be published before this time. */
  awayUntil = 0;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  #end: Published = { position: 0, hash: '' };
  #session = 0;

  constructor(scheduler: Scheduler, random: Random) {
    this.#scheduler = scheduler;
    this.#random = random;
  }

  /** The last event on the topic. */
  get end(): Published {
    return this.#end;
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
    for (const event of events) {
      const message = eventMessage(event);
      if (message !== undefined) this.messages.push(message);
      this.#end = { position: event.position, hash: Buffer.from(event.hash).toString('hex') };
    }
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
