import { wallTime } from '../time/host.ts';
/**
 * `starting`: unknown yet which instance publishes. `standby`: another instance publishes. `publishing`: this instance
 * publishes, possibly with a lag. `degraded`: this instance should publish but cannot.
 */
export type PublisherState = 'starting' | 'standby' | 'publishing' | 'degraded';

/** The status of publication, as known to this instance. */
export interface PublisherStatus {
  readonly state: PublisherState;
  /** Start of the state: ISO 8601, UTC. */
  readonly since: string;
  /** Why publication is degraded, or what an operator should know although it works. */
  readonly detail: string | undefined;
  /** Position of the last event known to be on the topic. Undefined if unknown, as on an instance on standby. */
  readonly published: number | undefined;
  /** Events in the log after `published`; undefined while that is. */
  readonly lagEvents: number | undefined;
  /** Age of the oldest of these events in seconds; 0 if there is none. */
  readonly lagSeconds: number | undefined;
}

/** Most details to report while the state stays the same. */
const MAX_REPORTED = 20;

/** Keeps the status. Reports each change of state, and each new detail once while the state stays the same. */
export class StatusKeeper {
  readonly #onChange: (status: PublisherStatus) => void;
  readonly #reported = new Set<string | undefined>();
  #state: PublisherState = 'starting';
  #since = new Date(wallTime()).toISOString();
  #detail: string | undefined;
  #published: number | undefined;
  #head = 0;
  /** Time of the oldest unpublished event, as far as known, in milliseconds since 1970. */
  #oldest: number | undefined;

  constructor(onChange: (status: PublisherStatus) => void) {
    this.#onChange = onChange;
  }

  /** The current status. */
  get status(): PublisherStatus {
    const published = this.#published;
    const lagEvents = published === undefined ? undefined : Math.max(this.#head - published, 0);
    const age = this.#oldest === undefined ? 0 : Math.max(wallTime() - this.#oldest, 0) / 1000;
    return {
      state: this.#state,
      since: this.#since,
      detail: this.#detail,
      published,
      lagEvents,
      lagSeconds: lagEvents === undefined ? undefined : lagEvents === 0 ? 0 : age,
    };
  }

  /** Position of the last event known to be on the topic. */
  get published(): number | undefined {
    return this.#published;
  }

  /** Enters a state, or changes the detail of the current one. */
  enter(state: PublisherState, detail?: string): void {
    if (state !== this.#state) {
      this.#since = new Date(wallTime()).toISOString();
      this.#reported.clear();
    }
    this.#state = state;
    this.#detail = detail;
    if (state === 'standby') this.#published = undefined;
    // During an outage, details may alternate.
    if (this.#reported.has(detail) || this.#reported.size === MAX_REPORTED) return;
    this.#reported.add(detail);
    this.#onChange(this.status);
  }

  /** The topic now ends at a position. */
  reached(position: number): void {
    this.#published = position;
    this.#head = Math.max(this.#head, position);
  }

  /** The log ends at position `head`. `oldest` is the time of the oldest unpublished event, if there is one. */
  measured(head: number, oldest: number | undefined): void {
    this.#head = Math.max(this.#head, head);
    this.#oldest = oldest;
  }
}
