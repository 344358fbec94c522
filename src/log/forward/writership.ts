import { randomBytes } from 'node:crypto';
import { Backoff } from '../../time/backoff.ts';
import { Lease, RENEWAL } from '../../time/lease.ts';
import { pause } from '../../time/pause.ts';
import type { Contact, Leaseholder, Store } from '../store.ts';

/** The lease's name. */
const WRITER = 'writer';
/** Renewals without a command between them after which the lease is given back. */
const IDLE_RENEWALS = 60;
/** First and longest pause after the writer could not be reached, in milliseconds. */
const PAUSE = 125;
const MAX_PAUSE = 2_000;
/** Bytes of a secret. */
const SECRET_BYTES = 32;

/** What the instance does as one that is the writer, or not. */
export interface WritershipOptions {
  readonly store: Pick<Store, 'lease' | 'leaseholder'>;
  /** Names this instance. */
  readonly holder: string;
  /** How the others reach this instance, as it is now: a certificate may be replaced. */
  readonly contact: () => Omit<Contact, 'secret'>;
  /** It is the writer from now on, and lets in who shows the secret. */
  readonly onWriter: (secret: string) => void;
  /** It is the writer no longer. Resolves when what was taken from others is answered. */
  readonly onNoWriter: () => Promise<void>;
  /** Forwards to the writer until it cannot or the signal aborts. Rejects when the writer cannot be reached. */
  readonly follow: (writer: Leaseholder, signal: AbortSignal) => Promise<void>;
  /** Hears when the writer cannot be reached, or not any more, and why. */
  readonly onUnreachable: (writer: string, fault: unknown) => void;
}

/**
 * Finds out which instance is the writer, and is it where nobody else is: by a lease, which is taken by who has commands, renewed
 * while there are any, and given back. Nothing rests on it but speed.
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

  /** Hears that there are commands. */
  used(): void {
    this.#isUsed = true;
    this.#wake?.();
  }

  /** Begins to look for the writer, whenever there are commands. */
  start(): void {
    this.#running = this.#run();
  }

  /** Gives the lease back, and does not take it again. Resolves when what was taken from others is answered. */
  async handOn(): Promise<void> {
    this.#handOn.abort();
    await this.#reign;
  }

  /** Hands on, and forwards no more. */
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
      const begun = performance.now();
      try {
        await this.#stand();
        backoff.reset();
        // A link that ends as soon as it is there is not asked for without a pause either.
        if (performance.now() - begun < PAUSE) await pause(PAUSE, signal);
      } catch {
        // Without the store nothing can be committed either; whoever does that reports the fault.
        await pause(backoff.next(), signal);
      }
    }
  }

  /** Is the writer, or forwards to it, for as long as that goes. */
  async #stand(): Promise<void> {
    const { store, holder, contact, follow, onUnreachable } = this.#options;
    if (!this.#handOn.signal.aborted) {
      const secret = randomBytes(SECRET_BYTES).toString('base64url');
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

  /** Is the writer until the lease is lost, given back as nobody uses it, or handed on. Never rejects. */
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
