import { BrokenChainError } from '../log/event/chain.ts';
import type { Head } from '../log/event/event.ts';
import type { Store } from '../log/store.ts';
import type { Checkpoint } from '../tlog/checkpoint.ts';
import { ChainCheck } from './checks/chain.ts';
import type { Check, Failure, Question } from './checks/check.ts';
import { CheckpointCheck } from './checks/checkpoint.ts';
import { ContentsCheck } from './checks/contents.ts';
import { DecisionsCheck } from './checks/decisions.ts';
import { PositionsCheck } from './checks/positions.ts';
import { ReadModelCheck } from './checks/read-model.ts';
import { StorageCheck } from './checks/storage.ts';
import { TreeCheck } from './checks/tree.ts';
import { Fold } from './fold/fold.ts';

/** Where a verification stands. */
export interface Progress {
  /** Events up to here are checked. */
  readonly position: number;
  /** Where the check ends. */
  readonly end: number;
}

/** A question and its answer: without a failure, yes. */
export interface Answer {
  readonly question: Question;
  readonly failure: Failure | undefined;
}

/** The outcome of a verification. */
export interface Verdict {
  /** Whether every answer is yes. */
  readonly ok: boolean;
  /** The log was checked up to here: the head when the check began. */
  readonly head: Head;
  /** Where the read model stood when it was compared; undefined when that was not possible. */
  readonly checkpoint: number | undefined;
  readonly answers: readonly Answer[];
}

/** What to hold a log against beside itself. */
export interface VerifyOptions {
  /** A checkpoint that was signed earlier, its signature verified. */
  readonly checkpoint?: Checkpoint | undefined;
  /** Questions of others. They are closed at the end. */
  readonly checks?: readonly Check[];
  /** Ends the verification: it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Smaller than every position that a store can hold: what stands before the first event would be found too. */
const BEFORE_ALL = Number.MIN_SAFE_INTEGER;

/**
 * Puts every question to a log in one pass, as far as the head that it sees first; safe while the service runs. Yields progress,
 * and last the verdict. Memory is bounded, whatever the log holds. Rejects when the store cannot be reached: then nothing is proved.
 */
export async function* verifyLog(store: Store, options: VerifyOptions = {}): AsyncGenerator<Progress | Verdict> {
  const underWay = (await store.erasures()).length > 0;
  const checkpoint = await store.checkpoint();
  const head = await store.head();
  const fold = new Fold({ asksDecisions: true });
  const readModel = new ReadModelCheck(store, checkpoint, fold);
  const checks: Check[] = [
    // The read model tells of events that a log which was cut short no longer has.
    new PositionsCheck(Math.max(head.position, checkpoint)),
    new ChainCheck(),
    new ContentsCheck(store, head.position),
    readModel,
    new DecisionsCheck(store, head.position, fold),
    ...(store.fault === undefined ? [] : [new StorageCheck(() => store.fault!())]),
    new TreeCheck(store),
    ...(options.checkpoint === undefined ? [] : [new CheckpointCheck(options.checkpoint)]),
    ...(options.checks ?? []),
  ];
  try {
    const unreadable = yield* pass(store, head.position, checks, options.signal);
    const answers: Answer[] = [];
    for (const check of checks) {
      // What lies behind an event that cannot be read was not seen, so no question has the answer yes.
      const failure = check.failure ?? unreadable ?? (await finished(check));
      answers.push({ question: check.question, failure });
    }
    if (answers.some(isUnsure) && (underWay || (await erasedAfter(store, head))))
      for (const [index, answer] of answers.entries())
        if (isUnsure(answer)) answers[index] = { question: answer.question, failure: UNSURE };
    const ok = answers.every(({ failure }) => failure === undefined);
    yield { ok, head, checkpoint: readModel.checkpoint, answers };
  } finally {
    await fold.close();
    for (const check of checks) await check.close?.();
  }
}

/** Why a question has no answer that could be trusted. */
const UNSURE: Failure = {
  message: 'cannot be told while an owner is being erased: verify again when that has ended',
};

/** Whether an erasure in the middle of the pass may have made this failure: a plant's first event was there, and its last was not. */
const isUnsure = ({ question, failure }: Answer): boolean =>
  failure !== undefined && (question === 'read_model' || question === 'decisions');

/** Whether an erasure was begun after a head was read. */
async function erasedAfter(store: Store, { position }: Head): Promise<boolean> {
  if ((await store.erasures()).length > 0) return true;
  for await (const events of store.read(position)) if (events.some(({ type }) => type === 'OwnerErased')) return true;
  return false;
}

/** Shows the events up to `end` to every check. Returns the place where no event could be read, if there is one. */
async function* pass(
  store: Store,
  end: number,
  checks: readonly Check[],
  signal: AbortSignal | undefined,
): AsyncGenerator<Progress, Failure | undefined> {
  try {
    for await (const events of store.read(BEFORE_ALL, { to: end })) {
      signal?.throwIfAborted();
      for (const check of checks) await check.take(events);
      yield { position: events.at(-1)!.position, end };
    }
    return undefined;
  } catch (error) {
    return unreadableAt(error);
  }
}

async function finished(check: Check): Promise<Failure | undefined> {
  try {
    await check.finish();
    return check.failure;
  } catch (error) {
    return unreadableAt(error);
  }
}

/** The place of an event that cannot be read as one. Throws every other error. */
function unreadableAt(error: unknown): Failure {
  if (!(error instanceof BrokenChainError)) throw error;
  return { position: error.position, message: error.why };
}
