import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Contact, Leaseholder, Store } from '../store.ts';

/** The lease's name. */
const WRITER = 'writer';
/** Milliseconds that the lease lasts; another instance takes over after it. */
const LEASE = 3_000;
/** Milliseconds between two renewals. */
const RENEWAL = 1_000;
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
    for (let failures = 0; !signal.aborted; ) {
      await this.#untilUsed();
      if (signal.aborted) return;
      const begun = performance.now();
      try {
        await this.#stand();
        failures = 0;
      } catch {
        // Without the store nothing can be committed either; whoever does that reports the fault.
        failures++;
      }
      // A link that ends as soon as it is there is not asked for without a pause either.
      const isBrief = performance.now() - begun < PAUSE;
      if (failures > 0) await this.#pause(Math.min(PAUSE * 2 ** (failures - 1), MAX_PAUSE) * (0.5 + Math.random()));
      else if (isBrief) await this.#pause(PAUSE);
    }
  }

  /** Is the writer, or forwards to it, for as long as that goes. */
  async #stand(): Promise<void> {
    const { store, holder, contact, follow, onUnreachable } = this.#options;
    if (!this.#handOn.signal.aborted) {
      const secret = randomBytes(SECRET_BYTES).toString('base64url');
      const asked = performance.now();
      if (await store.lease(WRITER, holder, LEASE, { ...contact(), secret })) {
        this.#reign = this.#write(secret, asked);
        await this.#reign;
        this.#reign = undefined;
        return;
      }
    }
    const writer = await store.leaseholder(WRITER);
    if (writer === undefined || writer.holder === holder) return this.#pause(PAUSE);
    try {
      await follow(writer, this.#stop.signal);
    } catch (fault) {
      onUnreachable(writer.address, fault);
      throw fault;
    }
  }

  /** Is the writer until the lease is lost, given back as nobody uses it, or handed on. Never rejects. */
  async #write(secret: string, taken: number): Promise<void> {
    const { store, holder, contact, onWriter, onNoWriter } = this.#options;
    onWriter(secret);
    let [until, idle, lost] = [taken + LEASE, 0, false];
    while (idle < IDLE_RENEWALS && !lost) {
      await sleep(RENEWAL, undefined, { signal: this.#handOn.signal }).catch(() => {});
      if (this.#handOn.signal.aborted) break;
      idle = this.#isUsed ? 0 : idle + 1;
      this.#isUsed = false;
      const asked = performance.now();
      try {
        if (await store.lease(WRITER, holder, LEASE, { ...contact(), secret })) until = asked + LEASE;
        else lost = true;
      } catch {
        lost = performance.now() >= until;
      }
    }
    const givenBack = lost ? undefined : store.lease(WRITER, holder, 0, { ...contact(), secret }).catch(() => {});
    // The lease ends by itself where the store is away.
    await Promise.race([givenBack, sleep(RENEWAL, undefined, { ref: false })]);
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

  #pause(milliseconds: number): Promise<void> {
    return sleep(milliseconds, undefined, { signal: this.#stop.signal }).catch(() => {});
  }
}
