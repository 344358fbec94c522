import type { Head } from '../log/event/event.ts';
import type { Fault, Store } from '../log/store.ts';
import { unlessAborted } from '../time/pause.ts';
import type { Checkpoint } from '../tlog/checkpoint.ts';
import { type Check, type Failure, type Found, QUESTIONS, type Question } from './checks/check.ts';
import { contentsCheck } from './checks/contents.ts';
import { failureOf, notAsked, stopAt, storageCheck, unanswered } from './checks/damage.ts';
import { decisionsCheck } from './checks/decisions.ts';
import { chainCheck, checkpointCheck, positionsCheck, treeCheck } from './checks/log.ts';
import { readModelCheck } from './checks/read-model.ts';
import { Fold } from './fold/fold.ts';
import { headMembers } from './formats/event-json.ts';
import { checkpointOf } from './project.ts';
import { ErasedMeanwhileError, steadyView } from './steady.ts';

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
  /** Makes further checks. They are closed at the end. */
  readonly checks?: () => Promise<readonly Check[]>;
  /** Ends the verification: it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Most passes, of which all but the last were disturbed by an erasure. */
const MAX_ATTEMPTS = 3;

/** Below every integer that a store can have as a position, so that records before the first event are found too. */
const BEFORE_ALL = Number.NEGATIVE_INFINITY;

/**
 * Answers all questions in one pass over the log, up to its head at the start. The service may run. Yields progress,
 * and last the verdict. Memory is bounded. A question that needs what is unreadable is not asked, and so has a failure.
 * If an owner is erased meanwhile, it begins again, some times. Rejects if the store is unreachable; nothing is proved
 * then.
 */
export async function* verifyLog(store: Store, options: VerifyOptions = {}): AsyncGenerator<Progress | Verdict> {
  for (let [attempt, isSteady] = [1, true]; ; attempt++) {
    // Before the log's end is asked for: then it has whatever these compare with it.
    const others = (await options.checks?.()) ?? [];
    try {
      for await (const step of verifiedWith(others, store, options, isSteady)) {
        if (!('answers' in step)) yield step;
        else if (attempt === MAX_ATTEMPTS || !step.answers.some(({ failure }) => failure === UNSURE)) return yield step;
        // Contents that no erasure removed were taken by somebody, and what the fold lacks is to be shown.
        else isSteady = step.answers.every(({ question, failure }) => question !== 'contents' || failure === undefined);
      }
    } finally {
      for (const check of others) await check.close?.();
    }
  }
}

async function* verifiedWith(
  others: readonly Check[],
  store: Store,
  options: VerifyOptions,
  isSteady: boolean,
): AsyncGenerator<Progress | Verdict> {
  const { signal } = options;
  // A check of the database by itself cannot be ended.
  const fault = await unlessAborted(store.fault(), signal);
  const start = await startOf(store, fault);
  const { projected, head, view } = start;
  let { stop } = start;
  const end = head?.position ?? stop?.position ?? 0;
  using fold = new Fold({ asksDecisions: true, shown: isSteady ? view?.take : undefined });
  const storage = storageCheck(store, fault);
  let compared: number | undefined;
  const checks: Check[] = [
    // The checkpoint of the read model reveals a log that was cut short.
    positionsCheck(Math.max(end, projected)),
    chainCheck(),
    contentsCheck(store, end),
    readModelCheck(store, projected, fold, (at) => {
      compared = at;
    }),
    decisionsCheck(store, end, fold),
    storage,
    treeCheck(store, projected),
    ...(options.checkpoint === undefined ? [] : [checkpointCheck(options.checkpoint)]),
    ...others,
  ];
  /** What a check says, if it says anything by now. */
  const asked = async ({ question }: Check, found: () => Found) => {
    try {
      return await found();
    } catch (error) {
      signal?.throwIfAborted();
      return error instanceof ErasedMeanwhileError ? UNSURE : failureOf(error, question, fault);
    }
  };
  const failures = new Map<Check, Failure>();
  try {
    for await (const events of store.read(BEFORE_ALL, { to: end, checksKeys: true, signal })) {
      for (const check of checks) {
        const failure = failures.has(check) ? undefined : await asked(check, () => check.take(events));
        if (failure !== undefined) failures.set(check, failure);
      }
      yield { position: events.at(-1)!.position, end };
    }
  } catch (error) {
    signal?.throwIfAborted();
    stop = stopAt(error, fault);
  }
  const answers: Answer[] = [];
  for (const check of checks) {
    const { question } = check;
    const isAsked = stop === undefined || check === storage;
    const failure =
      failures.get(check) ?? (isAsked ? await asked(check, () => check.finish(signal)) : unanswered(question, stop!));
    answers.push({ question, failure });
  }
  const ok = answers.every(({ failure }) => failure === undefined);
  yield { ok, head, checkpoint: compared, answers };
}

/**
 * Where a verification begins, as far as the store can be read. `projected`: the checkpoint of the read model. `stop`:
 * what it cannot read past.
 */
async function startOf(store: Store, fault: Fault | undefined) {
  let stop: Fault | undefined;
  const tried = async <T>(read: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await read();
    } catch (error) {
      stop = stopAt(error, fault);
      return undefined;
    }
  };
  // If the store has lost it, the comparison of the read model finds that.
  const projected = (await tried(() => checkpointOf(store))) ?? 0;
  const head = await tried(() => store.head());
  const view = await tried(() => steadyView(store, { to: projected }));
  return { projected, head, view, stop };
}

/** The failure of a question that has no reliable answer. */
export const UNSURE: Failure = {
  message: 'unknown, because an owner is being erased: verify again later',
  isUnknown: true,
};

/** The verdict on a store that cannot be opened, because of this fault. `others`: further questions that were asked. */
export const damagedVerdict = (fault: string, others: readonly Question[]): Verdict => ({
  ok: false,
  head: undefined,
  checkpoint: undefined,
  answers: [...QUESTIONS, ...others].map((question) => ({
    question,
    failure: question === 'storage' ? { message: fault } : notAsked('the database cannot be opened'),
  })),
});

/** A verdict for machines: one JSON object without line breaks. */
export const verdictJson = ({ ok, head, checkpoint, answers }: Verdict): string =>
  JSON.stringify({
    ok,
    head: head && headMembers(head),
    checkpoint,
    answers: answers.map(({ question, failure }) => ({
      question,
      ok: failure === undefined,
      ...(failure && failureMembers(failure)),
    })),
  });

const failureMembers = ({ position, plant, message }: Failure) => ({
  position,
  ...(plant && { owner: plant.owner, plantId: JSON.rawJSON(String(plant.id)) }),
  message,
});

/** A verdict for people. */
export function verdictText({ ok, head, checkpoint, answers }: Verdict): string {
  return [
    ...answers.map(({ question, failure }) => `${question.padEnd(12)} ${failure ? `NO   ${placeOf(failure)}` : 'yes'}`),
    '',
    `${ok ? 'whole' : 'NOT WHOLE'}: ${scopeOf(head)}`,
    ...(checkpoint === undefined ? [] : [`compared with the read model at position ${checkpoint}`]),
  ].join('\n');
}

function scopeOf(head: Verdict['head']): string {
  if (head === undefined) return 'the end of the log cannot be read';
  if (head.position === 0) return 'the log is empty';
  const { position, hash, time } = headMembers(head);
  return `the log up to position ${position} of ${time}, hash ${hash}`;
}

const placeOf = ({ position, message }: Failure): string =>
  position === undefined ? message : `at position ${position}: ${message}`;
