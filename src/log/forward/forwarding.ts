import type { Command } from '../../domain/decider.ts';
import { randomUUID } from '../../time/host.ts';
import { pause } from '../../time/pause.ts';
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

/** Milliseconds after which a link is replaced, before the writer's server would end a connection of that age. */
const LINK_AGE = 50 * 60_000;

/** How instances reach each other. */
export interface ForwardingOptions {
  /** How other instances reach this one. */
  readonly contact: () => Omit<Contact, 'secret'>;
  readonly openLink: OpenLink;
  readonly observer?: ForwardObserver;
  /** Wraps the submission of other instances' commands, for example in traces. */
  readonly traced?: ((submit: Submit) => Submit) | undefined;
  /**
   * Called when the writer at an address becomes unreachable (with the fault) and when it is reachable again (without).
   */
  readonly onReachable: (writer: string, fault: unknown) => void;
  /** Called with every internal fault of another instance's command. The caller does not get its details. */
  readonly onFault: (error: unknown) => void;
}

/** The parts of the log that forwarding uses. */
export interface ForwardingParts {
  readonly store: Store;
  readonly tail: Tail;
  readonly follower: Follower;
  readonly committer: Committer;
  /** Milliseconds until a command is given up. */
  readonly commitLimit: number;
}

/**
 * One instance of a log is its writer. The others forward their commands to it, so that instances do not compete for
 * positions. Without a link to a writer, an instance commits its commands itself. This is always safe: an append
 * continues the head or fails.
 */
export class Forwarding {
  /** Accepts the commands of other instances. */
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

  /** The role of this instance, as far as it knows. `alone`: neither the writer nor linked to it. */
  get role(): 'writer' | 'forwards' | 'alone' {
    if (this.#writership.isWriter) return 'writer';
    return this.#current === undefined ? 'alone' : 'forwards';
  }

  /** Unanswered commands that were sent or are about to be. */
  get pending(): number {
    let pending = 0;
    for (const forwarder of this.#forwarders) pending += forwarder.pending;
    return pending;
  }

  /** Like Committer.submit. Commits here or through the writer. */
  submit(command: Command, cancellation?: Cancellation): Promise<Committed> {
    this.#writership.used();
    const { committer } = this.#parts;
    // An append of this instance ends its doubts.
    if (this.#current === undefined || committer.doubts > 0) return committer.submit(command, cancellation);
    const refusal = committer.refusal(this.pending);
    if (refusal === undefined) return this.#current.submit(command, cancellation);
    this.#options.observer?.forwarded('refused', 0, refusal.reason);
    return Promise.reject(refusal);
  }

  /** Gives up being the writer for good. Resolves when the commands of other instances are answered. */
  handOn(): Promise<void> {
    return this.#writership.handOn();
  }

  /** Stops forwarding and accepts nothing more. Resolves when no link is open. */
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
    await Promise.race([forwarder.ended, pause(LINK_AGE, AbortSignal.any([signal, over.signal]))]);
    over.abort();
    this.#current = undefined;
    forwarder.finish();
  }
}
