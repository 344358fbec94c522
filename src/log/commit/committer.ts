import type { Command } from '../../domain/decider.ts';
import { PlantStoreError, toPlantStoreError } from '../../domain/errors.ts';
import { Backoff } from '../../time/backoff.ts';
import { monotonic, randomUUID, wallTime, yieldTurn } from '../../time/host.ts';
import { pause } from '../../time/pause.ts';
import type { Committed, LoggedEvent } from '../event/event.ts';
import type { LogObserver } from '../observer.ts';
import type { Follower } from '../tail/follower.ts';
import { unavailable } from '../unavailable.ts';
import type { Appender } from './appender.ts';
import { OwnAppends } from './own-appends.ts';
import { type Plan, plan, type Submitted } from './plan.ts';
import type { StateReader } from './states.ts';

/** Longest pause after the first conflict with another instance, in milliseconds. About the time of a few appends. */
const FIRST_PAUSE = 16;
/** Longest pause after any conflict, in milliseconds. */
const MAX_PAUSE = 64;

/** Milliseconds until a command in doubt is decided again. */
const DOUBT_PAUSE = 100;

/** For `#answerLanded`: every decision stands, because the log was read to its end and nothing has to be appended. */
const ALL_EVENTS = Number.POSITIVE_INFINITY;

/** Bounds of the committer. */
export interface CommitterLimits {
  /** Most waiting commands. Any more are refused at once. */
  readonly queue: number;
  /** Most commands that one append decides. */
  readonly batch: number;
  /** Most bytes of the tail. While it is larger, commands are refused. */
  readonly tailBytes: number;
  /** Milliseconds until a command is given up. */
  readonly commitLimit: number;
}

/** Tells whether the sender of a command has given it up. An AbortSignal fits. */
export type Cancellation = Pick<AbortSignal, 'aborted'>;

/** A command that was sent to the writer and whose outcome there is unknown. */
export interface Doubt {
  /** The position that was sent to the writer as `Terms.onlyAfter`, or a later one. */
  readonly after: number;
  /** The command's event, if the log has shown it. */
  landed(): LoggedEvent | undefined;
}

/** Terms of a command that came from another instance or comes back from one. */
export interface Terms {
  readonly eventId: string;
  /** When the command is given up, by the monotonic clock: the wall clock may jump. */
  readonly deadline: number;
  /**
   * Set for a command that another instance sent. It is decided only while no other instance has appended after this
   * position. Otherwise it is given back (RETURNED).
   *
   * This lets a sender that lost its link take the command back safely, by an append of its own: an earlier decision
   * then meets a taken position, and no later decision is made.
   */
  readonly onlyAfter?: number | undefined;
  /** Set for a command that this instance sent to another and takes back. */
  readonly doubt?: Doubt | undefined;
}

/** See Committer.submit. */
export type Submit = (command: Command, cancellation?: Cancellation, terms?: Terms) => Promise<Committed>;

/** Rejection of a command that was not applied here and may be sent again. Shared: a stack trace takes time. */
export const RETURNED = new Error('the command is returned to the instance that sent it');

const outcomeUnknown = () =>
  new PlantStoreError(
    'OUTCOME_UNKNOWN',
    'the outcome is unknown; retry, with the same Idempotency-Key if you sent one',
  );

const STOPPED = new PlantStoreError('SHUTTING_DOWN', 'this instance is shutting down; try again');

interface Waiting extends Submitted, Terms {
  readonly cancellation: Cancellation | undefined;
  readonly resolve: (event: Committed) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Group commit. Commands queue. While one append is in flight, the next batch gathers. A batch is decided in order on
 * the state at the tail's head and appended at that head only. So each command is decided once, at one position.
 */
export class Committer {
  readonly #states: StateReader;
  readonly #follower: Follower;
  readonly #appender: Appender;
  readonly #limits: CommitterLimits;
  readonly #observer: LogObserver | undefined;
  readonly #waiting: Waiting[] = [];
  readonly #appends = new OwnAppends();
  #pending = 0;
  #doubts = 0;
  #committing = false;
  #closed = false;
  #idle: (() => void) | undefined;

  constructor(
    follower: Follower,
    states: StateReader,
    appender: Appender,
    limits: CommitterLimits,
    observer?: LogObserver,
  ) {
    this.#states = states;
    this.#follower = follower;
    this.#appender = appender;
    this.#limits = limits;
    this.#observer = observer;
  }

  /** Commands that were accepted and not answered yet. */
  get pending(): number {
    return this.#pending;
  }

  /** Commands in doubt that are not answered yet. Any append of this instance ends the doubt. */
  get doubts(): number {
    return this.#doubts;
  }

  /**
   * Resolves with the command's event once it is durable. Rejects with:
   * - the decider's error;
   * - OVERLOADED when too much waits already, and SHUTTING_DOWN once the log is being closed;
   * - STORE_UNAVAILABLE when the command was not applied;
   * - OUTCOME_UNKNOWN when it may have been applied;
   * - RETURNED as `Terms.onlyAfter` says.
   *
   * A command that its sender gives up before the decision is not applied.
   */
  submit(command: Command, cancellation?: Cancellation, terms?: Terms): Promise<Committed> {
    // Terms without `onlyAfter` mark a command that this instance accepted and counted before.
    const refusal = terms === undefined || terms.onlyAfter !== undefined ? this.refusal() : undefined;
    if (refusal !== undefined) {
      if (terms === undefined) this.#observer?.refused(refusal.reason);
      return Promise.reject(refusal);
    }
    return new Promise((resolve, reject) => {
      this.#pending++;
      if (terms?.doubt !== undefined) this.#doubts++;
      this.#enqueue({
        command,
        eventId: terms?.eventId ?? randomUUID(),
        deadline: terms?.deadline ?? monotonic() + this.#limits.commitLimit,
        onlyAfter: terms?.onlyAfter,
        doubt: terms?.doubt,
        cancellation,
        resolve,
        reject,
      });
    });
  }

  /**
   * Why no command is accepted now, to be decided here or by another instance. Undefined: commands are accepted.
   * `elsewhere`: the number of commands that wait at other instances.
   */
  refusal(elsewhere = 0): PlantStoreError | undefined {
    const overloaded = (why: string) => new PlantStoreError('OVERLOADED', `${why}; try again`);
    if (this.#closed) return STOPPED;
    if (this.#pending + elsewhere >= this.#limits.queue) return overloaded('too many commands are waiting');
    if (this.#follower.tail.bytes >= this.#limits.tailBytes)
      return overloaded('the read model is too far behind the log');
    return undefined;
  }

  /** Refuses new commands. Resolves when all accepted commands are answered. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#pending === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }

  #enqueue(command: Waiting): void {
    this.#waiting.push(command);
    if (!this.#committing) void this.#commitAll();
  }

  async #commitAll(): Promise<void> {
    this.#committing = true;
    // One turn of the event loop, so that commands that arrive together are committed together.
    await yieldTurn();
    while (this.#waiting.length > 0) {
      const commands = this.#waiting.splice(0, this.#limits.batch);
      try {
        await this.#commit(commands);
      } catch (error) {
        for (const waiting of commands) this.#fail(waiting, unavailable(error));
      }
    }
    this.#committing = false;
  }

  /** Whether the instance that got the command may still apply it. An append here since then prevents that. */
  #isInDoubt({ doubt }: Waiting): boolean {
    return doubt !== undefined && !this.#appends.ownAfter(doubt.after);
  }

  /** Answers, and removes, what must not be decided: it is in the log, was perhaps taken back, or was given up. */
  #removeSettled(commands: Waiting[]): void {
    this.#appends.saw(this.#follower.tail.head.position);
    const now = monotonic();
    this.#keep(commands, (waiting) => {
      const { onlyAfter, doubt } = waiting;
      const outcome = onlyAfter !== undefined && this.#appends.othersAfter(onlyAfter) ? RETURNED : doubt?.landed();
      const why = outcome === undefined ? withdrawal(waiting, now) : undefined;
      if (outcome !== undefined) this.#answer(waiting, outcome);
      else if (why !== undefined) this.#fail(waiting, why);
      return outcome === undefined && why === undefined;
    });
  }

  /** Commits a batch. Removes each command from the batch as it is answered. Rejects with the error for the rest. */
  async #commit(commands: Waiting[]): Promise<void> {
    const deadline = Math.max(...commands.map((waiting) => waiting.deadline));
    let synced = false;
    const backoff = new Backoff(FIRST_PAUSE, MAX_PAUSE);
    while (commands.length > 0) {
      const decided = await this.#states.decide(commands, (known) => {
        // Shortens the batch first, so that each decision has the index of its command.
        this.#removeSettled(commands);
        return plan(this.#follower.tail.head, commands, known, wallTime());
      });
      if (commands.length === 0) return;
      if (decided.events.length === 0) {
        // No append will show whether the tail is behind the log. Sync before any refusal; after that, each one stands.
        this.#answerLanded(commands, decided, synced ? ALL_EVENTS : 0);
        if (commands.length > 0) await this.#follower.sync();
        synced = true;
        continue;
      }
      const position = decided.events[0]!.position - 1;
      const begun = monotonic();
      const { landed, certain } = await this.#appender.append(decided.events, deadline);
      this.#appends.appended(position, landed);
      const outcome = landed === decided.events.length ? 'landed' : certain ? 'conflict' : 'unknown';
      this.#observer?.appended(landed, (monotonic() - begun) / 1000, outcome);
      this.#answerLanded(commands, decided, landed);
      if (!certain) throw outcomeUnknown();
      if (commands.length > 0 && monotonic() >= deadline)
        throw new PlantStoreError('STORE_UNAVAILABLE', 'not applied: other events came first; try again');
      if (commands.length > 0) await this.#pauseAndSync(backoff);
    }
  }

  /** Pauses for other instances, longer after each conflict, and then syncs with the log's end. */
  async #pauseAndSync(backoff: Backoff): Promise<void> {
    await pause(backoff.next());
    await this.#follower.sync();
  }

  /** Answers the commands whose decisions stand once `landed` of the plan's events are in the log. Keeps the rest. */
  #answerLanded(commands: Waiting[], { decisions }: Plan, landed: number): void {
    this.#keep(commands, (waiting, index) => {
      const { outcome, needs } = decisions[index]!;
      if (landed < needs) return true;
      if (!this.#isInDoubt(waiting)) this.#answer(waiting, outcome);
      else if (this.#closed) this.#answer(waiting, outcomeUnknown());
      else this.#decideLater(waiting);
      return false;
    });
  }

  /**
   * Decides a command in doubt again after a pause. Its decision appends nothing: a refusal, or the answer of an
   * earlier event with the same idempotency key, whose owner may be erased meanwhile. It may be given only once no
   * other instance can apply the command. So the command waits, until its deadline, for an append that lands here.
   */
  #decideLater(waiting: Waiting): void {
    void pause(DOUBT_PAUSE).then(() => this.#enqueue(waiting));
  }

  #keep(commands: Waiting[], isKept: (waiting: Waiting, index: number) => boolean): void {
    const left = commands.filter(isKept);
    if (left.length < commands.length) commands.splice(0, commands.length, ...left);
  }

  #fail(waiting: Waiting, error: Error): void {
    this.#answer(waiting, this.#isInDoubt(waiting) ? outcomeUnknown() : error);
  }

  #answer({ resolve, reject, onlyAfter, doubt }: Waiting, outcome: Committed | Error): void {
    if (outcome instanceof Error) {
      // For a command of another instance, that instance reports the refusal.
      if (onlyAfter === undefined) this.#observer?.refused(toPlantStoreError(outcome).reason);
      reject(outcome);
    } else resolve(outcome);
    if (doubt !== undefined) this.#doubts--;
    this.#pending--;
    if (this.#pending === 0) this.#idle?.();
  }
}

/** Why a command is not decided any more. Undefined: its sender still waits, and its time is not over. */
function withdrawal({ cancellation, deadline }: Waiting, now: number): PlantStoreError | undefined {
  if (cancellation?.aborted === true)
    return new PlantStoreError('CANCELLED', 'the caller gave up before the command was decided');
  return now < deadline ? undefined : new PlantStoreError('STORE_UNAVAILABLE', 'not applied in time; try again');
}
