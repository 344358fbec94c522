import { BrokenChainError } from '../log/event/chain.ts';
import type { Head, LoggedEvent } from '../log/event/event.ts';
import {
  BrokenReadModelError,
  type DamagedStoreError,
  LostRecordError,
  type OwnedRow,
  type Store,
} from '../log/store.ts';
import { BrokenTreeError } from '../log/tree/nodes.ts';
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
import { Fold, type OpenFold } from './fold/fold.ts';
import { ErasedMeanwhileError, SteadyView } from './steady.ts';

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
  /** Makes the fold that the read model is compared with. Default: one in a thread of its own. */
  readonly openFold?: OpenFold;
  /** Ends the verification: it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Most passes, of which all but the last were disturbed by an erasure. */
const ATTEMPTS = 3;

/** Below every integer that a store can have as a position, so that records before the first event are found too. */
const BEFORE_ALL = Number.NEGATIVE_INFINITY;

/**
 * Answers all questions in one pass over the log, up to its head at the start. The service may run. Yields progress,
 * and last the verdict. Memory is bounded for any log. A question that needs what is unreadable is not asked, and so has
 * a failure. If an owner is erased meanwhile, it begins again, some times. Rejects if the store is unreachable; nothing
 * is proved then.
 */
export async function* verifyLog(store: Store, options: VerifyOptions = {}): AsyncGenerator<Progress | Verdict> {
  for (let attempt = 1; ; attempt++)
    for await (const step of verified(store, options)) {
      if (!('answers' in step)) yield step;
      else if (attempt === ATTEMPTS || !step.answers.some(({ failure }) => failure === UNSURE)) return yield step;
    }
}

async function* verified(store: Store, options: VerifyOptions): AsyncGenerator<Progress | Verdict> {
  const storage = store.fault === undefined ? undefined : new StorageCheck(() => store.fault!());
  const reads = new Reads(storage, options.signal);
  const checkpoint = (await reads.try(() => checkpointOf(store))) ?? 0;
  const head = await reads.try(() => store.head());
  const end = head?.position ?? reads.stop?.position ?? 0;
  const openFold = options.openFold ?? ((asked) => new Fold(asked));
  const view = await reads.try(() => SteadyView.open(store, { to: checkpoint }));
  const fold = new SteadyFold(openFold({ asksDecisions: true }), view);
  const readModel = new ReadModelCheck(store, checkpoint, fold);
  const checks: Check[] = [
    // The checkpoint of the read model reveals a log that was cut short.
    new PositionsCheck(Math.max(end, checkpoint)),
    new ChainCheck(),
    new ContentsCheck(store, end),
    readModel,
    new DecisionsCheck(store, end, fold),
    ...(storage === undefined ? [] : [storage]),
    new TreeCheck(store, checkpoint),
    ...(options.checkpoint === undefined ? [] : [new CheckpointCheck(options.checkpoint)]),
    ...((await options.checks?.()) ?? []),
  ];
  try {
    const failures = new Map<Check, Failure>();
    const stop = (yield* pass(store, end, checks, failures, reads)) ?? reads.stop;
    const answers: Answer[] = [];
    for (const check of checks) {
      const isAsked = stop === undefined || check === storage;
      const failure =
        failures.get(check) ?? (isAsked ? await finished(check, reads) : unanswered(check.question, stop));
      answers.push({ question: check.question, failure });
    }
    // Contents that no erasure removed were taken by somebody, and what the fold lacks is to be shown.
    const areMissing = answers.some(({ question, failure }) => question === 'contents' && failure !== undefined);
    if (stop === undefined && fold.isDisturbed && !areMissing)
      for (const [index, answer] of answers.entries())
        if (isOfFold(answer)) answers[index] = { question: answer.question, failure: UNSURE };
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

/** The questions that need the fold. */
const isOfFold = ({ question }: Answer): boolean => question === 'read_model' || question === 'decisions';

/** The fold of a log, from which contents may be removed while it is read. */
class SteadyFold {
  /** Whether an erasure disturbed it: what it has is the fold of no state of the log. */
  isDisturbed = false;
  readonly #fold: ReturnType<OpenFold>;
  readonly #view: SteadyView | undefined;

  constructor(fold: ReturnType<OpenFold>, view: SteadyView | undefined) {
    this.#fold = fold;
    this.#view = view;
  }

  get position(): number {
    return this.#fold.position;
  }

  async apply(events: readonly LoggedEvent[]): Promise<void> {
    await this.#fold.apply(this.#shown(events));
  }

  #shown(events: readonly LoggedEvent[]): readonly LoggedEvent[] {
    if (this.isDisturbed || this.#view === undefined) return events;
    try {
      return this.#view.take(events);
    } catch (error) {
      if (!(error instanceof ErasedMeanwhileError)) throw error;
      this.isDisturbed = true;
      return events;
    }
  }

  misfit(): Promise<Failure | undefined> {
    return this.#fold.misfit();
  }

  rows(): AsyncIterable<OwnedRow[]> {
    return this.#fold.rows();
  }

  close(): Promise<void> {
    return this.#fold.close();
  }
}

/** The checkpoint of the read model. 0 if the store has lost it, which the comparison of the read model then finds. */
async function checkpointOf(store: Store): Promise<number> {
  try {
    return await store.checkpoint();
  } catch (error) {
    if (!(error instanceof BrokenReadModelError)) throw error;
    return 0;
  }
}

/** Passes the events up to `end` to every check without a failure. Returns what ended the pass early, if anything did. */
async function* pass(
  store: Store,
  end: number,
  checks: readonly Check[],
  failures: Map<Check, Failure>,
  reads: Reads,
): AsyncGenerator<Progress, Stop | undefined> {
  try {
    for await (const events of store.read(BEFORE_ALL, { to: end, checksKeys: true })) {
      reads.signal?.throwIfAborted();
      for (const check of checks) {
        const failure = failures.has(check) ? undefined : await taken(check, events);
        if (failure !== undefined) failures.set(check, failure);
      }
      yield { position: events.at(-1)!.position, end };
    }
    return undefined;
  } catch (error) {
    return reads.stopAt(error);
  }
}

/** What a check finds in the next events. */
async function taken(check: Check, events: readonly LoggedEvent[]): Promise<Failure | undefined> {
  try {
    return await check.take(events);
  } catch (error) {
    if (error instanceof BrokenChainError) return { position: error.position, message: error.why };
    if (error instanceof BrokenTreeError) return { message: error.why };
    throw error;
  }
}

async function finished(check: Check, reads: Reads): Promise<Failure | undefined> {
  try {
    return await check.finish();
  } catch (error) {
    if (error instanceof LostRecordError || error instanceof BrokenReadModelError) return { message: error.message };
    if (error instanceof BrokenTreeError) return { message: error.why };
    return unanswered(check.question, await reads.stopAt(error));
  }
}

/** What a verification cannot read past: an unreadable event at a position, or a damaged page. */
interface Stop {
  readonly position?: number;
  readonly why: string;
}

/** Tells damage, which is an answer, from a store that cannot be reached. */
class Reads {
  readonly signal: AbortSignal | undefined;
  readonly #storage: StorageCheck | undefined;
  /** What ended the last read of `try` that failed. */
  stop: Stop | undefined;

  constructor(storage: StorageCheck | undefined, signal: AbortSignal | undefined) {
    this.#storage = storage;
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
    if ((await this.#storage?.fault()) === undefined) throw error;
    return { why: (error as Error).message };
  }
}

/** The questions about each event by itself. An unreadable event is their first place. */
const OF_EACH_EVENT: readonly Question[] = ['positions', 'chain', 'contents'];

/** The failure of a question that needs what cannot be read. */
function unanswered(question: Question, { position, why }: Stop): Failure {
  if (position === undefined) return notAsked(why);
  return OF_EACH_EVENT.includes(question)
    ? { position, message: why }
    : notAsked(`the event at position ${position} cannot be read`);
}

const notAsked = (why: string): Failure => ({ message: `not asked: ${why}` });

/** The questions of every verification of a store that can check itself. */
const OF_EVERY_LOG: readonly Question[] = [
  'positions',
  'chain',
  'contents',
  'read_model',
  'decisions',
  'storage',
  'tree',
];

/** The verdict on a store that cannot be opened, because it is damaged. */
export const damagedVerdict = ({ fault }: DamagedStoreError): Verdict => ({
  ok: false,
  head: undefined,
  checkpoint: undefined,
  answers: OF_EVERY_LOG.map((question) => ({
    question,
    failure: question === 'storage' ? { message: fault } : notAsked('the database cannot be opened'),
  })),
});
