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

/** A request that asks to be let in. Nothing must have been done for it before. */
export interface Entrant {
  readonly protocol: Protocol;
  /** Whether it may wait when there is no room. */
  readonly mayWait: boolean;
  /** Whether its client has left. */
  readonly isGone: boolean;
  /** It is let in, and has the place until that is disposed of, once. Its client is still there. */
  admit(place: Disposable): void;
  /** It is to be answered with OVERLOADED. Its client may have left. */
  refuse(): void;
}

interface Waiting {
  readonly entrant: Entrant;
  readonly since: number;
}

/**
 * Sheds load before it costs anything: lets in requests of all protocols while there is room and the event loop keeps up. All
 * others wait, the first to come the first to be let in, and those that have waited too long are refused.
 *
 * A refusal costs a good part of what a small request does, and who is refused at once comes again at once: an instance could be
 * busy with nothing else. To wait costs nothing, and a client that waits for its answer sends nothing. So bursts are worked off, and
 * under lasting overload such a client is refused no more often than once in that time. Who sends on without an answer is refused
 * at once.
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

  /** `shed` hears of each request that is not served. */
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

  /** Admits a request, at once or later, or refuses it, or forgets it once its client has left. */
  enter(entrant: Entrant): void {
    if (this.#waiting.length === 0 && this.#hasRoom()) this.#admit(entrant);
    else if (entrant.mayWait && this.#waiting.length < MAX_WAITING)
      this.#waiting.push({ entrant, since: performance.now() });
    else this.#refuse(entrant, 'queue');
  }

  /** Ends its timer, and refuses what waits. */
  close(): void {
    clearInterval(this.#timer);
    for (const { entrant } of this.#waiting.splice(0)) this.#refuse(entrant, this.#reason());
  }

  #hasRoom = () => this.#inFlight < this.#limits.maxInFlight && this.#pace.allows;

  #admit(entrant: Entrant): void {
    this.#inFlight++;
    this.#pace.spend();
    entrant.admit(this.#place);
  }

  #leave(): void {
    this.#inFlight--;
    if (this.#waiting.length > 0) this.#wake ??= setImmediate(() => this.#letIn());
  }

  #letIn(): void {
    this.#wake = undefined;
    while (this.#waiting.length > 0 && this.#hasRoom()) {
      const { entrant } = this.#waiting.shift()!;
      if (entrant.isGone) this.#shed(entrant.protocol, 'gone');
      else this.#admit(entrant);
    }
  }

  #look(now: number): void {
    this.#pace.turned();
    const oldest = now - this.#limits.maxWait;
    while (this.#waiting.length > 0 && this.#waiting[0]!.since < oldest) {
      this.#refuse(this.#waiting.shift()!.entrant, this.#reason());
    }
    this.#letIn();
  }

  /** What those that wait are waiting for. */
  #reason = (): ShedReason => (this.#inFlight >= this.#limits.maxInFlight ? 'in_flight' : 'cpu');

  #refuse(entrant: Entrant, reason: ShedReason): void {
    this.#shed(entrant.protocol, entrant.isGone ? 'gone' : reason);
    entrant.refuse();
  }
}
