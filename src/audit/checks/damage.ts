import { BrokenChainError } from '../../log/event/chain.ts';
import { BrokenReadModelError, type Fault, LostRecordError, MalformedRowError, type Store } from '../../log/store.ts';
import { BrokenTreeError } from '../../log/tree/nodes.ts';
import type { Check, Failure, Question } from './check.ts';

/**
 * What a verification cannot read past, as an error of a read found it: an unreadable event at a position, or a damaged
 * page. Throws every error that is neither an unreadable event nor damage: the store cannot be reached. `fault`: what
 * the database finds wrong with itself.
 */
export function stopAt(error: unknown, fault: Fault | undefined): Fault {
  if (error instanceof BrokenChainError) return { position: error.position, message: error.why };
  if (fault === undefined) throw error;
  return { message: (error as Error).message };
}

/**
 * Is the database sound: does it find each event by what the event says, does it have the log's id, and, if it can
 * check itself, is nothing gone, and does every index match its table? `fault`: see `stopAt`.
 */
export const storageCheck = (store: Store, fault: Fault | undefined): Check => ({
  question: 'storage',
  take: (events) => {
    // Comes before its consequences: where a table is gone, no event is found by it.
    if (fault !== undefined) return fault;
    const event = events.find(({ misfiled }) => misfiled !== undefined);
    return event && { position: event.position, message: event.misfiled! };
  },
  async finish() {
    if (fault !== undefined) return fault;
    // Rejects if it is lost.
    await store.logId();
    return undefined;
  },
});

/** The questions about each event by itself, which only the log answers. Each fails at an unreadable event. */
export const OF_EACH_EVENT: readonly Question[] = ['positions', 'chain', 'contents'];

/** The failure of a question that needs what cannot be read. */
export function unanswered(question: Question, { position, message }: Fault): Failure {
  if (position === undefined) return notAsked(message);
  return OF_EACH_EVENT.includes(question)
    ? { position, message }
    : notAsked(`the event at position ${position} cannot be read`);
}

/** What a store says of rows and records that it has lost, or cannot read. */
const ROWS_OR_RECORDS = [LostRecordError, BrokenReadModelError, MalformedRowError];

/** The failure that an error of a check is. Throws as `stopAt`, unless it is not the store that cannot be read. */
export function failureOf(error: unknown, question: Question, fault: Fault | undefined): Failure {
  if (question === 'topic') return notAsked(`reading the topic failed: ${(error as Error).message}`);
  if (error instanceof BrokenTreeError) return { message: error.why };
  if (ROWS_OR_RECORDS.some((kind) => error instanceof kind)) return { message: (error as Error).message };
  return unanswered(question, stopAt(error, fault));
}

/** A question that cannot be asked, since this is in the way. */
export const unaskedCheck = (question: Question, why: string): Check => ({
  question,
  take: () => undefined,
  finish: () => notAsked(why),
});

/** The failure of a question that was not asked. */
export const notAsked = (why: string): Failure => ({ message: `not asked: ${why}`, isUnknown: true });
