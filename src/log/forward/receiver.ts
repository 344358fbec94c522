import { hash, timingSafeEqual } from 'node:crypto';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type ForwardRequest,
  type ForwardResponse,
  ForwardResponseSchema,
  type OutcomeSchema,
} from '../../../gen/plantstore/internal/v1/forwarding_service_pb.ts';
import type { Command } from '../../domain/decider.ts';
import { PlantStoreError, toPlantStoreError } from '../../domain/errors.ts';
import { clearTimer, monotonic, nextTurn, setRepeating, setTimer, type Timer } from '../../time/host.ts';
import { RETURNED, type Submit, type Terms } from '../commit/committer.ts';
import type { ForwardObserver } from '../observer.ts';
import type { Follower } from '../tail/follower.ts';
import { HEARTBEAT } from './link.ts';
import { commandOf, refusalOf } from './messages.ts';

type Outcome = MessageInitShape<typeof OutcomeSchema>;

/** Milliseconds to answer accepted commands after this instance stops being the writer. */
const ANSWER_LIMIT = 1_000;

/** The parts that the receiver uses. */
export interface ReceiverOptions {
  readonly follower: Follower;
  readonly submit: Submit;
  readonly observer: ForwardObserver | undefined;
  readonly onFault: (error: unknown) => void;
}

/** Accepts commands from other instances while this one is the writer, and commits them with its own. */
export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #receptions = new Set<Reception>();
  #secret: Buffer | undefined;

  constructor(options: ReceiverOptions) {
    this.#options = options;
  }

  /** This instance is the writer. Admits instances that show this secret. */
  open(secret: string): void {
    this.#secret = digest(secret);
  }

  /** This instance is no longer the writer. Admits no instance, answers accepted commands and accepts no more. */
  async close(): Promise<void> {
    this.#secret = undefined;
    await Promise.all([...this.#receptions].map((reception) => reception.leave()));
  }

  /** Whether the secret is that of this instance's lease. Takes constant time. */
  admits(secret: string): boolean {
    const shown = digest(secret);
    return this.#secret !== undefined && timingSafeEqual(shown, this.#secret);
  }

  /** Accepts commands from an admitted instance. `send` gets each message for it; `end` is called after the last. */
  begin(send: (response: ForwardResponse) => void, end: () => void): Reception {
    const reception = new Reception(this.#options, send, () => {
      this.#receptions.delete(reception);
      end();
    });
    this.#receptions.add(reception);
    return reception;
  }
}

/** The commands of one instance, over one link. */
export class Reception {
  readonly #options: ReceiverOptions;
  readonly #send: (response: ForwardResponse) => void;
  readonly #end: () => void;
  readonly #ended = Promise.withResolvers<void>();
  #heartbeat: Timer | undefined;
  #outcomes: Outcome[] = [];
  #pending = 0;
  #flushing = false;
  #leaving = false;
  #finished = false;
  /** For Cancellation. True: nobody waits for the outcomes, so undecided commands are not applied. */
  aborted = false;

  constructor(options: ReceiverOptions, send: (response: ForwardResponse) => void, end: () => void) {
    this.#options = options;
    this.#send = send;
    this.#end = end;
    // The sender relies on the first position: an event that is in the log already must not cause its commands to be
    // returned.
    options.follower.sync().then(
      () => this.#start(),
      () => this.abandon(),
    );
  }

  /** Accepts commands. Their outcomes follow in messages. Throws, and accepts none, as commandOf does. */
  receive({ afterPosition, commands }: ForwardRequest): void {
    const accepted = commands.map(commandOf);
    this.#options.observer?.taken(commands.length);
    for (const [index, { number, eventId, timeLeft }] of commands.entries()) {
      this.#pending++;
      const terms = { eventId, deadline: monotonic() + timeLeft, onlyAfter: Number(afterPosition) };
      if (this.#leaving) this.#settle(returned(number));
      else this.#submit(number, accepted[index]!, terms);
    }
  }

  /** No more commands will come. The link ends when all are answered. */
  finish(): void {
    this.#finished = true;
    this.#endIfAnswered();
  }

  /** Announces that no more are accepted. Resolves when the link has ended: all are answered, or a second is over. */
  async leave(): Promise<void> {
    this.#leaving = true;
    this.#flush();
    const limit = setTimer(() => this.abandon(), ANSWER_LIMIT);
    this.finish();
    await this.#ended.promise;
    clearTimer(limit);
  }

  #start(): void {
    if (this.aborted) return;
    this.#heartbeat = setRepeating(() => this.#flush(), HEARTBEAT);
    this.#flush();
  }

  #submit(number: number, command: Command, terms: Terms): void {
    this.#options.submit(command, this, terms).then(
      ({ position, eventId }) =>
        this.#settle({ number, outcome: { case: 'applied', value: { position: BigInt(position), eventId } } }),
      (error) => this.#settle(error === RETURNED ? returned(number) : this.#refusal(number, error)),
    );
  }

  #refusal(number: number, error: unknown): Outcome {
    if (!(error instanceof PlantStoreError)) this.#options.onFault(error);
    return { number, outcome: { case: 'refused', value: refusalOf(toPlantStoreError(error)) } };
  }

  #settle(outcome: Outcome): void {
    this.#pending--;
    if (this.aborted) return;
    this.#outcomes.push(outcome);
    if (this.#flushing) return;
    this.#flushing = true;
    // The answers of one append go into one message.
    nextTurn(() => {
      this.#flushing = false;
      this.#flush();
      this.#endIfAnswered();
    });
  }

  #endIfAnswered(): void {
    if (this.#finished && this.#pending === 0 && this.#outcomes.length === 0) this.abandon();
  }

  #flush(): void {
    if (this.aborted) return;
    const outcomes = this.#outcomes;
    this.#outcomes = [];
    const position = BigInt(this.#options.follower.tail.head.position);
    this.#send(create(ForwardResponseSchema, { position, outcomes, leaving: this.#leaving }));
  }

  /** The link is gone. No outcome is sent any more. */
  abandon(): void {
    if (this.aborted) return;
    this.aborted = true;
    clearTimer(this.#heartbeat);
    this.#ended.resolve();
    this.#end();
  }
}

const returned = (number: number): Outcome => ({ number, outcome: { case: 'returned', value: {} } });

const digest = (secret: string): Buffer => hash('sha256', secret, 'buffer');
