import { Backoff } from '../../time/backoff.ts';
import { monotonic, randomBytes } from '../../time/host.ts';
import { Lease, RENEWAL } from '../../time/lease.ts';
import { pause } from '../../time/pause.ts';
import type { Contact, Leaseholder, Store } from '../store.ts';

/** The lease's name. */
const WRITER = 'writer';
/** Renewals in a row without a command after which the lease is given back. */
const IDLE_RENEWALS = 60;
/** First and longest pause after the writer could not be reached, in milliseconds. */
const PAUSE = 125;
const MAX_PAUSE = 2_000;
/** Bytes of a secret. */
const SECRET_BYTES = 32;

/** How an instance acts as the writer, and how it follows another writer. */
export interface WritershipOptions {
  readonly store: Pick<Store, 'lease' | 'leaseholder'>;
  /** Identifies this instance. */
  readonly holder: string;
  /** How other instances reach this one now: a certificate may be replaced. */
  readonly contact: () => Omit<Contact, 'secret'>;
  /** This instance is now the writer. It admits instances that show the secret. */
  readonly onWriter: (secret: string) => void;
  /** This instance is no longer the writer. Resolves when the commands of other instances are answered. */
  readonly onNoWriter: () => Promise<void>;
  /** Forwards to the writer until it cannot or the signal aborts. Rejects when the writer cannot be reached. */
  readonly follow: (writer: Leaseholder, signal: AbortSignal) => Promise<void>;
  /** Called with the fault when the writer cannot be reached. */
  readonly onUnreachable: (writer: string, fault: unknown) => void;
}

/**
 * Finds the writer, and becomes the writer when no other instance is. It does so by a lease: an instance with commands
 * takes the lease, renews it while commands come, and then gives it back. Only speed depends on it, never correctness.
 */
export class Writership {
  readonly #options: WritershipOptions;
  readonly #stop = new AbortController();
  readonly #handOn = new AbortController();
  #running: Promise<void> | undefined;
  #reign: Promise<void> | undefined;
  #isUsed = false;
  #wake: (() => void) | undefined;

  constructor(options: WritershipOptions) {
    this.#options = options;
  }

  /** Whether this instance has the lease, as far as it knows. */
  get isWriter(): boolean {
    return this.#reign !== undefined;
  }

  /** Records that there are commands. */
  used(): void {
    this.#isUsed = true;
    this.#wake?.();
  }

  /** Begins to look for the writer whenever there are commands. */
  start(): void {
    this.#running = this.#run();
  }

  /** Gives the lease back for good. Resolves when the commands of other instances are answered. */
  async handOn(): Promise<void> {
    this.#handOn.abort();
    await this.#reign;
  }

  /** Gives the lease back for good and stops forwarding. */
  async close(): Promise<void> {
    await this.handOn();
    this.#stop.abort();
    this.#wake?.();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const backoff = new Backoff(PAUSE, MAX_PAUSE);
    while (!signal.aborted) {
      await this.#untilUsed();
      if (signal.aborted) return;
      const begun = monotonic();
      try {
        await this.#stand();
        backoff.reset();
        // A link that ends at once must not be opened again without a pause.
        if (monotonic() - begun < PAUSE) await pause(PAUSE, signal);
      } catch {
        // Without the store no commit succeeds either, and the commit reports the fault.
        await pause(backoff.next(), signal);
      }
    }
  }

  /** Is the writer or forwards to it, for as long as that is possible. */
  async #stand(): Promise<void> {
    const { store, holder, contact, follow, onUnreachable } = this.#options;
    if (!this.#handOn.signal.aborted) {
      const secret = Buffer.from(randomBytes(SECRET_BYTES)).toString('base64url');
      const lease = new Lease((milliseconds) => store.lease(WRITER, holder, milliseconds, { ...contact(), secret }));
      if (await lease.renew()) {
        this.#reign = this.#write(lease, secret);
        await this.#reign;
        this.#reign = undefined;
        return;
      }
    }
    const writer = await store.leaseholder(WRITER);
    if (writer === undefined || writer.holder === holder) return pause(PAUSE, this.#stop.signal);
    try {
      await follow(writer, this.#stop.signal);
    } catch (fault) {
      onUnreachable(writer.address, fault);
      throw fault;
    }
  }

  /** Is the writer until the lease is lost, handed on, or given back for lack of commands. Never rejects. */
  async #write(lease: Lease, secret: string): Promise<void> {
    const { onWriter, onNoWriter } = this.#options;
    onWriter(secret);
    let idle = 0;
    while (idle < IDLE_RENEWALS) {
      await pause(RENEWAL, this.#handOn.signal);
      if (this.#handOn.signal.aborted) break;
      idle = this.#isUsed ? 0 : idle + 1;
      this.#isUsed = false;
      if (!(await lease.renew())) break;
    }
    await lease.giveBack();
    await onNoWriter();
  }

  async #untilUsed(): Promise<void> {
    while (!this.#isUsed && !this.#stop.signal.aborted)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    this.#wake = undefined;
    this.#isUsed = false;
  }
}
