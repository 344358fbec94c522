import { create } from '@bufbuild/protobuf';
import {
  type ForwardedCommand,
  ForwardRequestSchema,
  type ForwardResponse,
  type Outcome,
} from '../../../gen/plantstore/internal/v1/forwarding_service_pb.ts';
import type { Command } from '../../domain/decider.ts';
import type { PlantStoreError } from '../../domain/errors.ts';
import { textBytes } from '../../domain/plant.ts';
import { clearTimer, monotonic, nextTurn, randomUUID, setRepeating, type Timer } from '../../time/host.ts';
import type { Cancellation, Committer } from '../commit/committer.ts';
import type { Committed, LoggedEvent } from '../event/event.ts';
import type { ForwardObserver } from '../observer.ts';
import type { Contact } from '../store.ts';
import type { Follower } from '../tail/follower.ts';
import { HEARTBEAT, type Link, type OpenLink } from './link.ts';
import { errorOf, messageOf } from './messages.ts';

/** Missed heartbeats in a row after which the writer counts as frozen or unreachable: 1.5 s. */
const MAX_MISSED = 6;
/** Most unanswered commands on a link. More wait here. */
const MAX_UNANSWERED = 4_096;
/** Most bytes of a message: the writer reads none above 64 KiB, and ends the link. The longest command has a third. */
const BATCH_BYTES = 60 * 1024;
/** Most bytes of a command beside its texts. */
const COMMAND_BYTES = 128;

interface Forwarded {
  readonly command: Command;
  readonly eventId: string;
  /** By the monotonic clock. */
  readonly begun: number;
  readonly deadline: number;
  readonly cancellation: Cancellation | undefined;
  readonly resolve: (committed: Committed) => void;
  readonly reject: (error: Error) => void;
  /** Its event, once the tail has it. */
  landed: LoggedEvent | undefined;
}

/** The parts of the log that forwarding uses. */
export interface ForwardingParts {
  readonly follower: Follower;
  readonly committer: Committer;
  /** Milliseconds until a command is given up. */
  readonly commitLimit: number;
}

type ForwarderOptions = ForwardingParts & { readonly observer: ForwardObserver | undefined };

/**
 * Sends the commands of this instance to the writer over one link, from its opening to its end.
 *
 * When the link ends, the outcome of its unanswered commands is unknown. The log decides: a command whose event id is
 * in the log was applied, whether the tail shows the event now or later. This instance commits all other commands
 * itself, with the same event id. While the writer may still apply them, they are in doubt; see Doubt.
 */
export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #link: Link;
  readonly #unsent: Forwarded[] = [];
  readonly #sent = new Map<number, Forwarded>();
  /** All unanswered commands by event id, including those that were taken back. */
  readonly #byEvent = new Map<string, Forwarded>();
  readonly #unsubscribe: () => void;
  readonly #heartbeat: Timer;
  readonly #opening = Promise.withResolvers<void>();
  readonly #ending = Promise.withResolvers<void>();
  readonly #closing = Promise.withResolvers<void>();
  /** Resolves when the writer has answered. Rejects when it clearly does not answer. */
  readonly opened: Promise<void> = this.#opening.promise;
  /** Resolves when it accepts no more commands: the link ended, or the writer leaves. */
  readonly ended: Promise<void> = this.#ending.promise;
  /** Resolves when the link has ended and every command is answered or taken back. */
  readonly closed: Promise<void> = this.#closing.promise;
  #number = 0;
  #after = 0;
  #missing = 0;
  #flushing = false;
  #open = false;
  #left = false;
  #ended = false;

  constructor(open: OpenLink, to: Contact, options: ForwarderOptions) {
    this.#options = options;
    this.opened.catch(() => {});
    // Comes first: it throws for an invalid contact, and then there is nothing to end.
    this.#link = open(to, { answered: (response) => this.#receive(response), ended: (fault) => this.#end(fault) });
    this.#unsubscribe = options.follower.tail.onSeen((news) => this.#resolveLanded(news));
    this.#heartbeat = setRepeating(() => this.#checkHeartbeat(), HEARTBEAT);
  }

  /** Unanswered commands, except those that were taken back. */
  get pending(): number {
    return this.#unsent.length + this.#sent.size;
  }

  /** Like Committer.submit, but a command that is sent is not withdrawn any more. */
  submit(command: Command, cancellation: Cancellation | undefined): Promise<Committed> {
    return new Promise((resolve, reject) => {
      const begun = monotonic();
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

  /** Accepts no more commands. The link ends once the accepted commands are answered. */
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

  /** Sends all commands of one turn of the event loop in one message. */
  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    nextTurn(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    while (this.#open && this.#unsent.length > 0 && this.#sent.size < MAX_UNANSWERED) {
      const commands = this.#nextBatch();
      if (commands.length > 0)
        this.#link.send(create(ForwardRequestSchema, { afterPosition: BigInt(this.#after), commands }));
    }
  }

  /** Takes the next ones. Those that their senders have given up are left to the committer, which withdraws them. */
  #nextBatch(): ForwardedCommand[] {
    const now = monotonic();
    const commands: ForwardedCommand[] = [];
    let taken = 0;
    let bytes = 0;
    for (const forwarded of this.#unsent) {
      const { command, eventId, deadline, cancellation } = forwarded;
      bytes += bytesOf(command);
      if (bytes > BATCH_BYTES && commands.length > 0) break;
      taken++;
      if (cancellation?.aborted === true) {
        this.#commit(forwarded);
        continue;
      }
      const number = ++this.#number;
      this.#sent.set(number, forwarded);
      commands.push(messageOf(command, { number, eventId, timeLeft: Math.max(0, Math.round(deadline - now)) }));
    }
    this.#unsent.splice(0, taken);
    return commands;
  }

  #receive({ position, outcomes, leaving }: ForwardResponse): void {
    this.#missing = 0;
    this.#after = Math.max(this.#after, Number(position));
    if (!this.#open && !this.#left && !leaving) {
      this.#open = true;
      this.#opening.resolve();
    }
    for (const { number, outcome } of outcomes) {
      if (outcome.case === undefined) throw new Error('an outcome of an unknown kind');
      const forwarded = this.#sent.get(number);
      if (forwarded === undefined) continue;
      this.#sent.delete(number);
      this.#settle(forwarded, outcome);
    }
    if (leaving) this.#leave();
    this.#flush();
  }

  #settle(forwarded: Forwarded, outcome: Outcome['outcome']): void {
    if (outcome.case === 'returned') {
      this.#options.observer?.forwarded('returned');
      this.#forward(forwarded);
    } else if (outcome.case === 'refused') this.#refuse(forwarded, errorOf(outcome.value));
    else if (outcome.case === 'applied') {
      this.#options.observer?.forwarded('applied', secondsSince(forwarded.begun));
      this.#byEvent.delete(forwarded.eventId);
      const { eventId } = outcome.value;
      const position = Number(outcome.value.position);
      // A different event id: an earlier command with the same idempotency key produced the event.
      forwarded.resolve({ position, eventId, ...(eventId !== forwarded.eventId && { replayed: true }) });
    }
  }

  #refuse(forwarded: Forwarded, error: PlantStoreError): void {
    this.#options.observer?.forwarded('refused', secondsSince(forwarded.begun), error.reason);
    this.#byEvent.delete(forwarded.eventId);
    forwarded.reject(error);
  }

  /** Commits unsent commands here. */
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
    clearTimer(this.#heartbeat);
    this.#opening.reject(fault ?? new Error('the link ended'));
    this.#leave();
    const doubt = this.#after;
    for (const forwarded of this.#sent.values()) this.#commit(forwarded, doubt);
    this.#sent.clear();
    this.#closing.resolve();
    if (this.#byEvent.size === 0) this.#unsubscribe();
  }

  /** Commits a command here. `after`: set if the command was sent; the highest position that was sent with it. */
  #commit(forwarded: Forwarded, after?: number): void {
    const { command, eventId, deadline, cancellation, resolve, reject } = forwarded;
    if (after !== undefined) this.#options.observer?.forwarded('lost');
    const doubt = after === undefined ? undefined : { after, landed: () => forwarded.landed };
    const answered = () => {
      this.#byEvent.delete(eventId);
      if (this.#ended && this.#byEvent.size === 0) this.#unsubscribe();
    };
    this.#options.committer
      .submit(command, cancellation, { eventId, deadline, doubt })
      .then(resolve, reject)
      .finally(answered);
  }

  /** Resolves commands whose events the tail shows. They are applied, whatever becomes of the writer's answer. */
  #resolveLanded(news: readonly LoggedEvent[]): void {
    if (this.#byEvent.size === 0) return;
    for (const event of news) {
      const forwarded = this.#byEvent.get(event.eventId);
      if (forwarded === undefined) continue;
      forwarded.landed = event;
      forwarded.resolve(event);
    }
  }

  #checkHeartbeat(): void {
    if (++this.#missing <= MAX_MISSED) return;
    // After close(), the link does not call `ended`.
    this.#link.close();
    this.#end(new Error('the writer does not answer'));
  }
}

/** What a command takes of a message, at most. */
function bytesOf(command: Command): number {
  const { owner, actor, issuer = '', idempotencyKey = '', traceparent = '' } = command;
  const texts = [owner, actor, issuer, idempotencyKey, traceparent];
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), COMMAND_BYTES);
  switch (command.type) {
    case 'AddPlant':
      return bytes + textBytes(command.plant);
    case 'DeletePlant':
    case 'EraseOwner':
      return bytes;
  }
}

const secondsSince = (begun: number): number => (monotonic() - begun) / 1000;
