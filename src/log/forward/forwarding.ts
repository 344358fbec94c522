import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from '../../domain/decider.ts';
import type { Cancellation, Committer, Submit } from '../commit/committer.ts';
import type { Committed } from '../event/event.ts';
import type { ForwardObserver } from '../observer.ts';
import type { Contact, Leaseholder, Store } from '../store.ts';
import type { Follower } from '../tail/follower.ts';
import type { Tail } from '../tail/tail.ts';
import { Forwarder } from './forwarder.ts';
import type { OpenLink } from './hop.ts';
import { Taker } from './taker.ts';
import { Writership } from './writership.ts';

/** Milliseconds after which a link is replaced: before the writer's server would break off a connection of that age. */
const LINK_AGE = 50 * 60_000;

/** How this instance and the others reach each other. */
export interface ForwardingOptions {
  /** How the others reach this one. */
  readonly contact: () => Omit<Contact, 'secret'>;
  readonly openLink: OpenLink;
  readonly observer?: ForwardObserver;
  /** Follows the commands of other instances on their way to the committer, such as with traces. */
  readonly traced?: ((submit: Submit) => Submit) | undefined;
  /** Hears when the writer at an address cannot be reached (with the fault), and when it can again (without). */
  readonly onReachable: (writer: string, fault: unknown) => void;
  /** Hears of every fault with which a command of another instance failed and that its caller is told nothing of. */
  readonly onFault: (error: unknown) => void;
}

/** What of the log it stands on. */
export interface ForwardingParts {
  readonly store: Store;
  readonly tail: Tail;
  readonly follower: Follower;
  readonly committer: Committer;
  /** Milliseconds after which a command is given up. */
  readonly commitLimit: number;
}

/**
 * One instance of a log is its writer, and the others forward their commands to it, so that they do not fight for positions. A
 * command is committed here whenever there is no link to a writer, which is always safe: an append is onto the head or fails.
 */
export class Forwarding {
  /** Takes the commands of other instances. */
  readonly taker: Taker;
  readonly #parts: ForwardingParts;
  readonly #options: ForwardingOptions;
  readonly #writership: Writership;
  readonly #forwarders = new Set<Forwarder>();
  #current: Forwarder | undefined;

  constructor(parts: ForwardingParts, options: ForwardingOptions) {
    const { observer, onFault, traced } = options;
    const submit: Submit = (...command) => parts.committer.submit(...command);
    this.#parts = parts;
    this.#options = options;
    this.taker = new Taker({
      ...parts,
      submit: traced?.(submit) ?? submit,
      observer,
      onFault,
      onUse: () => this.#writership.used(),
    });
    this.#writership = new Writership({
      store: parts.store,
      contact: options.contact,
      holder: randomUUID(),
      onWriter: (secret) => this.taker.open(secret),
      onNoWriter: () => this.taker.close(),
      follow: (writer, signal) => this.#follow(writer, signal),
      onUnreachable: options.onReachable,
    });
    this.#writership.start();
  }

  /** What this instance is to the others, as far as it knows. `alone`: neither the writer nor linked to it. */
  get role(): 'writer' | 'forwards' | 'alone' {
    if (this.#writership.isWriter) return 'writer';
    return this.#current === undefined ? 'alone' : 'forwards';
  }

  /** Commands that were sent, or are about to be, and are not answered. */
  get pending(): number {
    let pending = 0;
    for (const forwarder of this.#forwarders) pending += forwarder.pending;
    return pending;
  }

  /** As Committer.submit: here, or by way of the writer. */
  submit(command: Command, cancellation?: Cancellation): Promise<Committed> {
    this.#writership.used();
    const { committer } = this.#parts;
    // An append of its own ends the doubts of this instance.
    if (this.#current === undefined || committer.doubts > 0) return committer.submit(command, cancellation);
    const refusal = committer.refusal(this.pending);
    if (refusal === undefined) return this.#current.submit(command, cancellation);
    this.#options.observer?.forwarded('refused', 0, refusal.reason);
    return Promise.reject(refusal);
  }

  /** Is the writer no longer, and does not become it again. Resolves when what was taken from others is answered. */
  handOn(): Promise<void> {
    return this.#writership.handOn();
  }

  /** Forwards no more, and takes nothing. Resolves when no link is open. */
  async close(): Promise<void> {
    await this.#writership.close();
    await Promise.all([...this.#forwarders].map(({ closed }) => closed));
  }

  async #follow(writer: Leaseholder, signal: AbortSignal): Promise<void> {
    const { openLink, observer, onReachable } = this.#options;
    const forwarder = new Forwarder(openLink, writer, { ...this.#parts, observer });
    this.#forwarders.add(forwarder);
    void forwarder.closed.then(() => this.#forwarders.delete(forwarder));
    await forwarder.opened;
    onReachable(writer.address, undefined);
    this.#current = forwarder;
    const over = new AbortController();
    await Promise.race([
      forwarder.ended,
      sleep(LINK_AGE, undefined, { signal: AbortSignal.any([signal, over.signal]) }).catch(() => {}),
    ]);
    over.abort();
    this.#current = undefined;
    forwarder.finish();
  }
}
