import { BrokenChainError } from '../log/event/chain.ts';
import type { Head } from '../log/event/event.ts';
import { LostRecordError, type Store } from '../log/store.ts';
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

/** The progress of a verification. */
export interface Progress {
  /** Position up to which events are verified. */
  readonly position: number;
  /** Position at which the verification ends. */
  readonly end: number;
}

/** A question and its answer: yes if there is no failure. */
export interface Answer {
  readonly question: Question;
  readonly failure: Failure | undefined;
}

/** The result of a verification. */
export interface Verdict {
  /** Whether every answer is yes. */
  readonly ok: boolean;
  /** The head at the start, up to which the log was verified. Undefined if it cannot be read. */
  readonly head: Head | undefined;
  /** Checkpoint of the compared read model; undefined if the comparison was impossible. */
  readonly checkpoint: number | undefined;
  readonly answers: readonly Answer[];
}

/** Options of a verification. */
export interface VerifyOptions {
  /** An earlier checkpoint whose signature is verified. */
  readonly checkpoint?: Checkpoint | undefined;
  /** Further checks. They are closed at the end. */
  readonly checks?: readonly Check[];
  /** Ends the verification: it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Below every position that a store can contain, so that records before the first event are found too. */
const BEFORE_ALL = Number.MIN_SAFE_INTEGER;

/**
 * Answers all questions in one pass over the log, up to its head at the start. The service may run. Yields progress,
 * and last the verdict. Memory is bounded for any log. Rejects if the store is unreachable; nothing is proved then.
 */
export async function* verifyLog(store: Store, options: VerifyOptions = {}): AsyncGenerator<Progress | Verdict> {
  const underWay = (await store.erasures()).length > 0;
  const checkpoint = await checkpointOf(store);
  const { head, end, unreadable: last } = await endOf(store);
  const fold = new Fold({ asksDecisions: true });
  const readModel = new ReadModelCheck(store, checkpoint, fold);
  const checks: Check[] = [
    // The checkpoint of the read model reveals a log that was cut short.
    new PositionsCheck(Math.max(end, checkpoint)),
    new ChainCheck(),
    new ContentsCheck(store, end),
    readModel,
    new DecisionsCheck(store, end, fold),
    ...(store.fault === undefined ? [] : [new StorageCheck(() => store.fault!())]),
    new TreeCheck(store),
    ...(options.checkpoint === undefined ? [] : [new CheckpointCheck(options.checkpoint)]),
    ...(options.checks ?? []),
  ];
  try {
    const unreadable = (yield* pass(store, end, checks, options.signal)) ?? last;
    const answers: Answer[] = [];
    for (const check of checks) {
      // The pass ends at an unreadable event, so no question can have the answer yes.
      const failure = check.failure ?? unreadable ?? (await finished(check));
      answers.push({ question: check.question, failure });
    }
    if (unreadable === undefined && answers.some(isUnsure) && (underWay || (await erasedAfter(store, end))))
      for (const [index, answer] of answers.entries())
        if (isUnsure(answer)) answers[index] = { question: answer.question, failure: UNSURE };
    const ok = answers.every(({ failure }) => failure === undefined);
    yield { ok, head, checkpoint: readModel.checkpoint, answers };
  } finally {
    await fold.close();
    for (const check of checks) await check.close?.();
  }
}

/** The failure of a question that has no reliable answer. */
const UNSURE: Failure = {
  message: 'unknown, because an owner is being erased: verify again later',
};

/**
 * Whether an erasure during the pass may have caused this failure, by removing only a plant's later events from the
 * pass.
 */
const isUnsure = ({ question, failure }: Answer): boolean =>
  failure !== undefined && (question === 'read_model' || question === 'decisions');

/** The checkpoint of the read model. 0 if the store has lost it, which the comparison of the read model then finds. */
async function checkpointOf(store: Store): Promise<number> {
  try {
    return await store.checkpoint();
  } catch (error) {
    if (!(error instanceof LostRecordError)) throw error;
    return 0;
  }
}

/** The end of the log: its head, or the place of a last event that cannot be read. */
async function endOf(
  store: Store,
): Promise<{ readonly end: number; readonly head: Head | undefined; readonly unreadable: Failure | undefined }> {
  try {
    const head = await store.head();
    return { end: head.position, head, unreadable: undefined };
  } catch (error) {
    const unreadable = unreadableAt(error);
    return { end: unreadable.position, head: undefined, unreadable };
  }
}

/** Whether an erasure began after the end of the log was read. */
async function erasedAfter(store: Store, position: number): Promise<boolean> {
  if ((await store.erasures()).length > 0) return true;
  for await (const events of store.read(position)) if (events.some(({ type }) => type === 'OwnerErased')) return true;
  return false;
}

/** Passes the events up to `end` to every check. Returns the place of the first unreadable event, if there is one. */
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
    if (error instanceof LostRecordError) return { message: error.message };
    return unreadableAt(error);
  }
}

/** The place of an unreadable event. Throws every other error. */
function unreadableAt(error: unknown): Failure & { readonly position: number } {
  if (!(error instanceof BrokenChainError)) throw error;
  return { position: error.position, message: error.why };
}
