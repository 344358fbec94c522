import { BrokenChainError } from '../../log/event/chain.ts';
import type { Store } from '../../log/store.ts';
import type { Check, Failure, Question } from './check.ts';

/** What a verification cannot read past: an unreadable event at a position, or a damaged page. */
export interface Stop {
  readonly position?: number;
  readonly why: string;
}

/** Tells damage, which is an answer, from a store that cannot be reached. */
export class Reads {
  readonly signal: AbortSignal | undefined;
  /**
   * Is the database sound: does it find each event by what the event says, and, if it can check itself, does every index
   * match its table?
   */
  readonly storage: Check = {
    question: 'storage',
    take: (events) => {
      const event = events.find(({ misfiled }) => misfiled !== undefined);
      return event && { position: event.position, message: event.misfiled! };
    },
    finish: () => this.#faultFound(),
  };
  /** What ended the last read of `try` that failed. */
  stop: Stop | undefined;
  readonly #store: Store;
  #fault: Promise<string | undefined> | undefined;

  constructor(store: Store, signal: AbortSignal | undefined) {
    this.#store = store;
    this.signal = signal;
  }

  /** The result of a read. Undefined: it failed, and `stop` says why. */
  async try<T>(read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      this.stop = await this.stopAt(error);
      return undefined;
    }
  }

  /** What an error of a read found. Rejects with every error that is neither an unreadable event nor damage. */
  async stopAt(error: unknown): Promise<Stop> {
    if (error instanceof BrokenChainError) return { position: error.position, why: error.why };
    this.signal?.throwIfAborted();
    if ((await this.#faultFound()) === undefined) throw error;
    return { why: (error as Error).message };
  }

  /** The fault of the database, searched for once. */
  async #faultFound(): Promise<Failure | undefined> {
    this.#fault ??= this.#store.fault?.();
    const message = await this.#fault;
    return message === undefined ? undefined : { message };
  }
}

/** The questions about each event by itself, which only the log answers. An unreadable event is their first place. */
export const OF_EACH_EVENT: readonly Question[] = ['positions', 'chain', 'contents'];

/** The failure of a question that needs what cannot be read. */
export function unanswered(question: Question, { position, why }: Stop): Failure {
  if (position === undefined) return notAsked(why);
  return OF_EACH_EVENT.includes(question)
    ? { position, message: why }
    : notAsked(`the event at position ${position} cannot be read`);
}

/** The failure of a question that was not asked. */
export const notAsked = (why: string): Failure => ({ message: `not asked: ${why}` });
