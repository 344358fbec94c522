import { hash, timingSafeEqual } from 'node:crypto';
import { PlantStoreError, toPlantStoreError } from '../../domain/errors.ts';
import { RETURNED, type Submit } from '../commit/committer.ts';
import type { ForwardObserver } from '../observer.ts';
import type { Follower } from '../tail/follower.ts';
import type { Tail } from '../tail/tail.ts';
import { type Answers, type ForwardedBatch, type ForwardedCommand, HEARTBEAT, type Outcome } from './hop.ts';

/** Milliseconds that what was taken has to be answered when this instance is the writer no longer. */
const FAREWELL = 1_000;

/** What the taker stands on. */
export interface TakerOptions {
  readonly tail: Tail;
  readonly follower: Follower;
  readonly submit: Submit;
  readonly observer: ForwardObserver | undefined;
  /** Hears of what is no caller's business. */
  readonly onFault: (error: unknown) => void;
  /** Hears that commands came. */
  readonly onUse: () => void;
}

/** Takes commands from other instances while this one is the writer, and commits them with its own. */
export class Taker {
  readonly #options: TakerOptions;
  readonly #takings = new Set<Taking>();
  #secret: Buffer | undefined;

  constructor(options: TakerOptions) {
    this.#options = options;
  }

  /** This instance is the writer: who shows this secret is let in. */
  open(secret: string): void {
    this.#secret = digest(secret);
  }

  /** It is the writer no longer: nobody is let in, what was taken is answered, nothing more is taken. */
  async close(): Promise<void> {
    this.#secret = undefined;
    await Promise.all([...this.#takings].map((taking) => taking.leave()));
  }

  /** Whether a secret is that of this instance's lease. Takes as long whatever is wrong with it. */
  admits(secret: string): boolean {
    const shown = digest(secret);
    return this.#secret !== undefined && timingSafeEqual(shown, this.#secret);
  }

  /**
   * Begins to take commands from an instance that was let in. `say` is given what it is to be told, `end` is called when there is
   * nothing more to tell.
   */
  begin(say: (answers: Answers) => void, end: () => void): Taking {
    const taking = new Taking(this.#options, say, () => {
      this.#takings.delete(taking);
      end();
    });
    this.#takings.add(taking);
    return taking;
  }
}

/** What is taken from one instance, over one link. */
export class Taking {
  readonly #options: TakerOptions;
  readonly #say: (answers: Answers) => void;
  readonly #end: () => void;
  readonly #ended = Promise.withResolvers<void>();
  #heartbeat: NodeJS.Timeout | undefined;
  #outcomes: Outcome[] = [];
  #pending = 0;
  #flushing = false;
  #leaving = false;
  #finished = false;
  /** As Cancellation: nobody waits for the outcomes any more, so what is not decided is not applied. */
  aborted = false;

  constructor(options: TakerOptions, say: (answers: Answers) => void, end: () => void) {
    this.#options = options;
    this.#say = say;
    this.#end = end;
    // The sender counts on the position: nothing that is in the log already is to give its commands back.
    options.follower.sync().then(
      () => this.#speak(),
      () => this.#close(),
    );
  }

  /** Takes commands; their outcomes are told. */
  take({ after, commands }: ForwardedBatch): void {
    this.#options.onUse();
    this.#options.observer?.taken(commands.length);
    for (const command of commands) {
      this.#pending++;
      if (this.#leaving) this.#settle({ kind: 'returned', number: command.number });
      else this.#submit(command, after);
    }
  }

  /** Nothing more comes: it ends when all is answered. */
  finish(): void {
    this.#finished = true;
    this.#endIfAnswered();
  }

  /** The link is gone: nobody hears of anything. */
  abandon(): void {
    this.#close();
  }

  /** Says that nothing more is taken. Resolves when it has ended, which is once all is answered, or a second later. */
  async leave(): Promise<void> {
    this.#leaving = true;
    this.#flush();
    const limit = setTimeout(() => this.#close(), FAREWELL);
    this.finish();
    await this.#ended.promise;
    clearTimeout(limit);
  }

  #speak(): void {
    if (this.aborted) return;
    this.#heartbeat = setInterval(() => this.#flush(), HEARTBEAT);
    this.#flush();
  }

  #submit({ number, command, eventId, timeLeft }: ForwardedCommand, after: number): void {
    this.#options.submit(command, this, { eventId, deadline: performance.now() + timeLeft, onlyAfter: after }).then(
      (event) => this.#settle({ kind: 'applied', number, position: event.position, eventId: event.eventId }),
      (error) => this.#settle(error === RETURNED ? { kind: 'returned', number } : this.#refusal(number, error)),
    );
  }

  #refusal(number: number, error: unknown): Outcome {
    if (!(error instanceof PlantStoreError)) this.#options.onFault(error);
    return { kind: 'refused', number, error: toPlantStoreError(error) };
  }

  #settle(outcome: Outcome): void {
    this.#pending--;
    if (this.aborted) return;
    this.#outcomes.push(outcome);
    if (this.#flushing) return;
    this.#flushing = true;
    // What one append answers goes into one message.
    setImmediate(() => {
      this.#flushing = false;
      this.#flush();
      this.#endIfAnswered();
    });
  }

  #endIfAnswered(): void {
    if (this.#finished && this.#pending === 0 && this.#outcomes.length === 0) this.#close();
  }

  #flush(): void {
    if (this.aborted) return;
    const outcomes = this.#outcomes;
    this.#outcomes = [];
    this.#say({ position: this.#options.tail.head.position, outcomes, leaving: this.#leaving });
  }

  #close(): void {
    if (this.aborted) return;
    this.aborted = true;
    clearInterval(this.#heartbeat);
    this.#ended.resolve();
    this.#end();
  }
}

const digest = (secret: string): Buffer => hash('sha256', secret, 'buffer');
