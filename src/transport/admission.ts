import { PlantStoreError } from '../domain/errors.ts';
import type { Protocol, ShedReason } from '../observe/request.ts';
import { Pace } from './pace.ts';

/** When requests wait or are refused for the sake of those that are served. */
export interface AdmissionLimits {
  /** Most requests that are served at once. */
  readonly maxInFlight: number;
  /** Milliseconds that a request may wait to be let in. */
  readonly maxWait: number;
}

/** What is refused is told. One for all requests: to make an error for each would make a refusal dear. */
export const OVERLOADED = new PlantStoreError('OVERLOADED', 'too many requests are being served; try again', {
  retryAfter: 1,
});

/** Milliseconds between two looks at the event loop and at what waits. */
const TICK = 10;
/** Most requests that wait. A client that sends on without an answer to its last request must not fill the memory. */
const MAX_WAITING = 10_000;

interface Waiting {
  readonly protocol: Protocol;
  readonly since: number;
  readonly admit: (place: Disposable) => void;
  readonly refuse: () => void;
}

/**
 * Sheds load before it costs anything: lets in requests of all protocols while there is room and the event loop keeps up. All
 * others wait, the first to come the first to be let in, and those that have waited too long are refused.
 *
 * A refusal costs a good part of what a small request does, and who is refused at once comes again at once: an instance could be
 * busy with nothing else. To wait costs nothing, and a client that waits sends nothing on its connection. So bursts are worked
 * off, and under lasting overload a connection is refused no more often than once in that time.
 */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #shed: (protocol: Protocol, reason: ShedReason) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #pace = new Pace();
  readonly #waiting: Waiting[] = [];
  readonly #place: Disposable = { [Symbol.dispose]: () => this.#leave() };
  #inFlight = 0;
  /** Lets in those that wait, once a turn: it has to be no deeper in a call than who leaves. */
  #wake: NodeJS.Immediate | undefined;

  /** `shed` hears of each request that is refused. */
  constructor(limits: AdmissionLimits, shed: (protocol: Protocol, reason: ShedReason) => void) {
    this.#limits = limits;
    this.#shed = shed;
    this.#timer = setInterval(() => this.#look(performance.now()), TICK).unref();
  }

  /** Requests that were let in and are not done. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Requests that wait to be let in. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * Lets a request in, which means that `admit` is called, at once or later, with a place that it has until it is disposed of,
   * once; or calls `refuse`, to answer with OVERLOADED. Nothing must have been done for it before.
   */
  enter(protocol: Protocol, admit: (place: Disposable) => void, refuse: () => void): void {
    if (this.#waiting.length === 0 && this.#hasRoom()) this.#admit(admit);
    else if (this.#waiting.length < MAX_WAITING)
      this.#waiting.push({ protocol, since: performance.now(), admit, refuse });
    else this.#refuse(protocol, refuse, 'queue');
  }

  /** Ends its timer, and refuses what waits. */
  close(): void {
    clearInterval(this.#timer);
    for (const { protocol, refuse } of this.#waiting.splice(0)) this.#refuse(protocol, refuse, this.#reason());
  }

  #hasRoom = () => this.#inFlight < this.#limits.maxInFlight && this.#pace.allows;

  #admit(admit: (place: Disposable) => void): void {
    this.#inFlight++;
    this.#pace.spend();
    admit(this.#place);
  }

  #leave(): void {
    this.#inFlight--;
    if (this.#waiting.length > 0) this.#wake ??= setImmediate(() => this.#letIn());
  }

  #letIn(): void {
    this.#wake = undefined;
    while (this.#waiting.length > 0 && this.#hasRoom()) this.#admit(this.#waiting.shift()!.admit);
  }

  #look(now: number): void {
    this.#pace.turned();
    const oldest = now - this.#limits.maxWait;
    while (this.#waiting.length > 0 && this.#waiting[0]!.since < oldest) {
      const { protocol, refuse } = this.#waiting.shift()!;
      this.#refuse(protocol, refuse, this.#reason());
    }
    this.#letIn();
  }

  /** What those that wait are waiting for. */
  #reason = (): ShedReason => (this.#inFlight >= this.#limits.maxInFlight ? 'in_flight' : 'cpu');

  #refuse(protocol: Protocol, refuse: () => void, reason: ShedReason): void {
    this.#shed(protocol, reason);
    refuse();
  }
}
