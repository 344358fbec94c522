import { PlantStoreError } from '../domain/errors.ts';

/** When requests are refused for the sake of those that are served. */
export interface AdmissionLimits {
  /** Most requests at once. */
  readonly maxInFlight: number;
  /** Milliseconds that a turn of the event loop may take, and with it the wait of a request that arrives meanwhile. */
  readonly maxEventLoopDelay: number;
}

/** Milliseconds between two looks at the event loop. */
const TICK = 10;
/** Milliseconds for which every turn has to be too long before anything is refused: a burst that is worked off sooner is none. */
const PATIENCE = 1_000;

/**
 * Sheds load before it costs anything: lets in requests of all protocols while there is room and the event loop keeps up.
 *
 * What arrives faster than it is served waits unseen in the sockets, and each turn of the event loop then takes as long as it
 * takes to serve all of it. Once that lasts, a turn serves for as long as the limit allows, and refuses the rest of what it finds.
 */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #timer: NodeJS.Timeout;
  readonly #place: Disposable = { [Symbol.dispose]: () => void this.#inFlight-- };
  #inFlight = 0;
  #refused = 0;
  /** When this turn of the event loop began, and the last one that was not too long. */
  #turn = performance.now();
  #onTime = this.#turn;

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
    this.#timer = setInterval(() => {
      const now = performance.now();
      if (now - this.#turn <= limits.maxEventLoopDelay) this.#onTime = now;
      this.#turn = now;
    }, TICK).unref();
  }

  /** Requests that were let in and are not done. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Requests that were refused so far. */
  get refused(): number {
    return this.#refused;
  }

  /** Takes a place for a request until it is disposed of, once. Throws OVERLOADED, which has cost nothing yet. */
  enter(): Disposable {
    const refusal = this.#refusal();
    if (refusal !== undefined) {
      this.#refused++;
      throw refusal;
    }
    this.#inFlight++;
    return this.#place;
  }

  /** Ends its timer. */
  close(): void {
    clearInterval(this.#timer);
  }

  #refusal(): PlantStoreError | undefined {
    if (this.#inFlight >= this.#limits.maxInFlight) return FULL;
    const now = performance.now();
    const isBusy = now - this.#turn > this.#limits.maxEventLoopDelay && now - this.#onTime > PATIENCE;
    return isBusy ? BUSY : undefined;
  }
}

// One for all requests: a stack trace for each would make a refusal dear.
const FULL = new PlantStoreError('OVERLOADED', 'too many requests are being served; try again', { retryAfter: 1 });
const BUSY = new PlantStoreError('OVERLOADED', 'the service is too busy; try again', { retryAfter: 1 });
