import { randomUUID } from 'node:crypto';
import type { Command } from '../../domain/decider.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import type { Cancellation, Committer } from '../commit/committer.ts';
import type { Committed, LoggedEvent } from '../event/event.ts';
import type { ForwardObserver } from '../observer.ts';
import type { Contact } from '../store.ts';
import type { Tail } from '../tail/tail.ts';
import { type Answers, type ForwardedCommand, HEARTBEAT, type Link, type OpenLink, type Outcome } from './hop.ts';

/** Heartbeats in a row that may be missing before the writer is taken for frozen or unreachable: 1.5 s. */
const MISSING = 6;
/** Most commands on a link that are not answered; more wait here. */
const WINDOW = 4_096;
/** Most commands in one message, and most characters of their texts: a message has 1 MiB at most. */
const BATCH = 512;
const BATCH_TEXT = 64 * 1024;

interface Forwarded {
  readonly command: Command;
  readonly eventId: string;
  /** Of performance.now(). */
  readonly begun: number;
  readonly deadline: number;
  readonly cancellation: Cancellation | undefined;
  readonly resolve: (committed: Committed) => void;
  readonly reject: (error: Error) => void;
  /** Its event, once the tail has it. */
  landed: LoggedEvent | undefined;
}

/** What a forwarder stands on. */
export interface ForwarderOptions {
  readonly tail: Tail;
  readonly committer: Committer;
  /** Milliseconds after which a command is given up. */
  readonly commitLimit: number;
  readonly observer: ForwardObserver | undefined;
}

/**
 * Sends the commands of this instance to the writer, over one link, from its opening to its end.
 *
 * When the link ends, nobody knows what became of the commands that are not answered. The log decides: what is found there under
 * its event's id was applied, whether the tail shows it now or later; all else this instance commits itself, with the same id of
 * the event, and under the doubt whether the writer does so too; see Doubt.
 */
export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #link: Link;
  readonly #unsent: Forwarded[] = [];
  readonly #sent = new Map<number, Forwarded>();
  /** All that are not answered, those that were taken back among them, by their events' ids. */
  readonly #byEvent = new Map<string, Forwarded>();
  readonly #forget: () => void;
  readonly #watch: NodeJS.Timeout;
  readonly #opening = Promise.withResolvers<void>();
  readonly #ending = Promise.withResolvers<void>();
  readonly #closing = Promise.withResolvers<void>();
  #number = 0;
  #after = 0;
  #missing = 0;
  #flushing = false;
  #full = false;
  #open = false;
  #left = false;
  #ended = false;

  constructor(open: OpenLink, to: Contact, options: ForwarderOptions) {
    this.#options = options;
    this.#forget = options.tail.onExtended((news) => this.#sight(news));
    this.#opening.promise.catch(() => {});
    this.#watch = setInterval(() => this.#listen(), HEARTBEAT);
    this.#link = open(to, {
      answered: (answers) => this.#take(answers),
      drained: () => {
        this.#full = false;
        this.#flush();
      },
      ended: (fault) => this.#end(fault),
    });
  }

  /** Resolves when the writer has answered, and rejects when it is clear that it does not. */
  get opened(): Promise<void> {
    return this.#opening.promise;
  }

  /** Resolves when it takes no more commands: the link ended, or the writer leaves. */
  get ended(): Promise<void> {
    return this.#ending.promise;
  }

  /** Resolves when the link has ended, and all is answered or taken back. */
  get closed(): Promise<void> {
    return this.#closing.promise;
  }

  /** Commands that are not answered, but for those that were taken back. */
  get pending(): number {
    return this.#unsent.length + this.#sent.size;
  }

  /** As Committer.submit. */
  submit(command: Command, cancellation: Cancellation | undefined): Promise<Committed> {
    return new Promise((resolve, reject) => {
      const begun = performance.now();
      const forwarded: Forwarded = {
        command,
        eventId: randomUUID(),
        begun,
        deadline: begun + this.#options.commitLimit,
        cancellation,
        resolve,
        reject,
        landed: undefined,
      };
      this.#byEvent.set(forwarded.eventId, forwarded);
      this.#forward(forwarded);
    });
  }

  /** Takes no more commands. The link ends once those that were taken are answered. */
  finish(): void {
    this.#leave();
    this.#link.finish();
  }

  #forward(forwarded: Forwarded): void {
    if (!this.#open) {
      this.#commit(forwarded);
      return;
    }
    this.#unsent.push(forwarded);
    this.#flushSoon();
  }

  /** One message a turn of the event loop holds all that came in it. */
  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    while (this.#open && !this.#full && this.#unsent.length > 0 && this.#sent.size < WINDOW) {
      const commands = this.#nextBatch();
      if (commands.length > 0) this.#full = !this.#link.send({ after: this.#after, commands });
    }
  }

  #nextBatch(): ForwardedCommand[] {
    const now = performance.now();
    const commands: ForwardedCommand[] = [];
    let taken = 0;
    for (let text = 0; taken < this.#unsent.length && commands.length < BATCH && text < BATCH_TEXT; taken++) {
      const forwarded = this.#unsent[taken]!;
      const refusal = withdrawn(forwarded, now);
      if (refusal !== undefined) {
        this.#refuse(forwarded, refusal);
        continue;
      }
      const number = ++this.#number;
      this.#sent.set(number, forwarded);
      const { command, eventId, deadline } = forwarded;
      commands.push({ number, command, eventId, timeLeft: deadline - now });
      text += textOf(command);
    }
    this.#unsent.splice(0, taken);
    return commands;
  }

  #take({ position, outcomes, leaving }: Answers): void {
    this.#missing = 0;
    this.#after = Math.max(this.#after, position);
    if (!this.#open && !this.#left && !leaving) {
      this.#open = true;
      this.#opening.resolve();
    }
    for (const outcome of outcomes) {
      const forwarded = this.#sent.get(outcome.number);
      if (forwarded === undefined) continue;
      this.#sent.delete(outcome.number);
      this.#settle(forwarded, outcome);
    }
    if (leaving) this.#leave();
    this.#flush();
  }

  #settle(forwarded: Forwarded, outcome: Outcome): void {
    if (outcome.kind === 'returned') {
      this.#options.observer?.forwarded('returned', 0);
      this.#forward(forwarded);
    } else if (outcome.kind === 'refused') this.#refuse(forwarded, outcome.error);
    else {
      this.#options.observer?.forwarded('applied', performance.now() - forwarded.begun);
      this.#byEvent.delete(forwarded.eventId);
      const { position, eventId } = outcome;
      // An earlier command with its idempotency key gave another event.
      forwarded.resolve({ position, eventId, ...(eventId !== forwarded.eventId && { replayed: true }) });
    }
  }

  #refuse(forwarded: Forwarded, error: PlantStoreError): void {
    this.#options.observer?.forwarded('refused', performance.now() - forwarded.begun, error.reason);
    this.#byEvent.delete(forwarded.eventId);
    forwarded.reject(error);
  }

  /** What was not sent is committed here. */
  #leave(): void {
    this.#left = true;
    this.#open = false;
    this.#opening.reject(new Error('the instance is no longer the writer'));
    this.#ending.resolve();
    for (const forwarded of this.#unsent.splice(0)) this.#commit(forwarded);
  }

  #end(fault: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#watch);
    this.#opening.reject(fault ?? new Error('the link ended'));
    this.#leave();
    const doubt = this.#after;
    for (const forwarded of this.#sent.values()) this.#commit(forwarded, doubt);
    this.#sent.clear();
    this.#closing.resolve();
    if (this.#byEvent.size === 0) this.#forget();
  }

  /** Commits here what was to be forwarded; `after`: what was sent, and told this position at most. */
  #commit(forwarded: Forwarded, after?: number): void {
    const { command, eventId, deadline, cancellation, resolve, reject } = forwarded;
    if (after !== undefined) this.#options.observer?.forwarded('lost', 0);
    const doubt = after === undefined ? undefined : { after, landed: () => forwarded.landed };
    const answered = () => {
      this.#byEvent.delete(eventId);
      if (this.#ended && this.#byEvent.size === 0) this.#forget();
    };
    this.#options.committer
      .submit(command, cancellation, { eventId, deadline, doubt })
      .then(resolve, reject)
      .finally(answered);
  }

  /** What the tail shows has been applied, whatever becomes of its answer. */
  #sight(news: readonly LoggedEvent[]): void {
    if (this.#byEvent.size === 0) return;
    for (const event of news) {
      const forwarded = this.#byEvent.get(event.eventId);
      if (forwarded === undefined) continue;
      forwarded.landed = event;
      forwarded.resolve(event);
    }
  }

  #listen(): void {
    if (++this.#missing <= MISSING) return;
    // Breaking it off is told to nobody but the link.
    this.#link.close();
    this.#end(new Error('the writer does not answer'));
  }
}

function withdrawn({ cancellation, deadline }: Forwarded, now: number): PlantStoreError | undefined {
  if (cancellation?.aborted === true)
    return new PlantStoreError('CANCELLED', 'the caller gave up before the command was decided');
  if (now < deadline) return undefined;
  return new PlantStoreError('STORE_UNAVAILABLE', 'not applied in time; try again', { retryAfter: 1 });
}

const textOf = (command: Command): number =>
  command.owner.length +
  command.actor.length +
  (command.type === 'AddPlant' ? command.plant.name.length + (command.plant.tag?.length ?? 0) : 0);
