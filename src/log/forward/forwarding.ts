import type { Command } from '../../domain/decider.ts';
import { Backoff, repeat } from '../../time/backoff.ts';
import { monotonic, randomBytes, randomUUID } from '../../time/host.ts';
import { pause } from '../../time/pause.ts';
import type { Cancellation, Submit } from '../commit/committer.ts';
import type { Committed } from '../event/event.ts';
import { LEASE_DURATION, Lease } from '../lease.ts';
import type { ForwardObserver } from '../observer.ts';
import type { Contact, Leaseholder } from '../store.ts';
import { Forwarder, type ForwardingParts } from './forwarder.ts';
import type { OpenLink } from './link.ts';
import { Receiver } from './receiver.ts';

/** Milliseconds after which a link is replaced, before the writer's server would end a connection of that age. */
const LINK_AGE = 50 * 60_000;
const WRITER_LEASE = 'writer';
/** First and longest pause after the writer could not be reached, in milliseconds. */
const FIRST_PAUSE = 125;
const MAX_PAUSE = 2_000;
const SECRET_BYTES = 32;

/** How instances reach each other. */
export interface ForwardingOptions {
  /** How other instances reach this one. */
  readonly contact: () => Omit<Contact, 'secret'>;
  readonly openLink: OpenLink;
  readonly observer?: ForwardObserver;
  /** Wraps the submission of other instances' commands, for example in traces. */
  readonly traced?: ((submit: Submit) => Submit) | undefined;
  /** Called whenever the writer at an address cannot be reached though it lives, and, without a fault, is reached. */
  readonly onReachable: (writer: string, fault: unknown) => void;
  /** Called with faults of the lease, and with each internal fault of another instance's command. */
  readonly onFault: (error: unknown) => void;
}

/**
 * One instance of a log is its writer. The others forward their commands to it, so that instances do not compete for
 * positions. Without a link to a writer, an instance commits its commands itself. This is always safe: an append
 * continues the head or fails.
 *
 * An instance finds the writer, or becomes it by a lease if there is none. It keeps the lease until it drains, its log
 * is replaced, or it could not renew the lease in time. Only speed depends on the lease, never correctness.
 */
export class Forwarding {
  /** Accepts the commands of other instances. */
  readonly receiver: Receiver;
  readonly #parts: ForwardingParts;
  readonly #options: ForwardingOptions;
  readonly #holder = randomUUID();
  readonly #forwarders = new Set<Forwarder>();
  readonly #stop = new AbortController();
  readonly #handOn = new AbortController();
  readonly #running: Promise<void>;
  #current: Forwarder | undefined;
  /** The writer that could not be reached last, and when that began, by the monotonic clock. */
  #unreached = { holder: '', since: 0 };
  /** Set while this instance is the writer, as far as it knows. Resolves when it no longer is. */
  #writing: Promise<void> | undefined;

  constructor(parts: ForwardingParts, options: ForwardingOptions) {
    const { observer, onFault, traced } = options;
    const submit: Submit = (...command) => parts.committer.submit(...command);
    this.#parts = parts;
    this.#options = options;
    this.receiver = new Receiver({
      ...parts,
      submit: traced?.(submit) ?? submit,
      observer,
      onFault,
    });
    this.#running = this.#run();
  }

  /** The role of this instance, as far as it knows. `alone`: neither the writer nor linked to it. */
  get role(): 'writer' | 'forwards' | 'alone' {
    if (this.#writing !== undefined) return 'writer';
    return this.#current === undefined ? 'alone' : 'forwards';
  }

  /** Unanswered commands that were sent or are about to be. */
  get pending(): number {
    let pending = 0;
    for (const forwarder of this.#forwarders) pending += forwarder.pending;
    return pending;
  }

  /** Commits here or through the writer: like Committer.submit, or Forwarder.submit. */
  submit(command: Command, cancellation?: Cancellation): Promise<Committed> {
    const { committer } = this.#parts;
    // An append of this instance ends its doubts.
    if (this.#current === undefined || committer.doubts > 0) return committer.submit(command, cancellation);
    const refusal = committer.refusal(this.pending);
    if (refusal === undefined) return this.#current.submit(command, cancellation);
    this.#options.observer?.forwarded('refused', undefined, refusal.reason);
    return Promise.reject(refusal);
  }

  /** Gives up being the writer for good. Resolves when the commands of other instances are answered. */
  async handOn(): Promise<void> {
    this.#handOn.abort();
    await this.#writing;
  }

  /** Stops forwarding and accepts nothing more. Resolves when no link is open. */
  async close(): Promise<void> {
    await this.handOn();
    this.#stop.abort();
    await this.#running;
    await Promise.all([...this.#forwarders].map(({ closed }) => closed));
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const takeRole = async () => {
      const begun = monotonic();
      await this.#takeRole();
      // A link that ends at once must not be opened again without a pause.
      if (monotonic() - begun < FIRST_PAUSE) await pause(FIRST_PAUSE, signal);
    };
    // Without the store no commit succeeds either, and the commit reports the fault.
    await repeat(takeRole, signal, new Backoff(FIRST_PAUSE, MAX_PAUSE), () => {});
  }

  /** Is the writer or forwards to it, for as long as that is possible. */
  async #takeRole(): Promise<void> {
    const { store } = this.#parts.follower;
    const { contact, onFault, onReachable } = this.#options;
    if (!this.#handOn.signal.aborted) {
      const secret = Buffer.from(randomBytes(SECRET_BYTES)).toString('base64url');
      const lease = new Lease(store, WRITER_LEASE, this.#holder, () => ({ ...contact(), secret }));
      if (await lease.renew().catch(onFault)) {
        this.#writing = this.#serveAsWriter(lease, secret);
        await this.#writing;
        this.#writing = undefined;
        return;
      }
    }
    const asked = monotonic();
    const writer = await store.leaseholder(WRITER_LEASE);
    if (writer === undefined || writer.holder === this.#holder) return pause(FIRST_PAUSE, this.#stop.signal);
    try {
      await this.#forwardTo(writer);
    } catch (fault) {
      const { holder, address } = writer;
      if (this.#unreached.holder !== holder) this.#unreached = { holder, since: monotonic() };
      // The lease of a writer that has died or is frozen would have ended: this one has renewed it.
      else if (asked > this.#unreached.since + LEASE_DURATION) onReachable(address, fault);
      throw fault;
    }
  }

  /** Is the writer until the lease is lost or handed on. Never rejects. */
  async #serveAsWriter(lease: Lease, secret: string): Promise<void> {
    this.receiver.open(secret);
    await lease.keep(this.#handOn.signal);
    await lease.giveBack();
    await this.receiver.close();
  }

  /** Forwards to the writer until it cannot. Rejects when the writer cannot be reached. */
  async #forwardTo(writer: Leaseholder): Promise<void> {
    const { openLink, observer, onReachable } = this.#options;
    const forwarder = new Forwarder(openLink, writer, { ...this.#parts, observer });
    this.#forwarders.add(forwarder);
    void forwarder.closed.then(() => this.#forwarders.delete(forwarder));
    await forwarder.opened;
    onReachable(writer.address, undefined);
    this.#unreached = { holder: '', since: 0 };
    this.#current = forwarder;
    const over = new AbortController();
    await Promise.race([forwarder.ended, pause(LINK_AGE, AbortSignal.any([this.#stop.signal, over.signal]))]);
    over.abort();
    this.#current = undefined;
    forwarder.finish();
  }
}
