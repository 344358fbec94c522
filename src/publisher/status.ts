/**
 * `starting` until it is known who publishes; `standby` while another instance does; `publishing`, however far behind;
 * `degraded` while this instance should and cannot.
 */
export type PublisherState = 'starting' | 'standby' | 'publishing' | 'degraded';

/** How publication stands, as this instance knows it. */
export interface PublisherStatus {
  readonly state: PublisherState;
  /** When it came into this state: ISO 8601, UTC. */
  readonly since: string;
  /** Why it is degraded, or what an operator should know of although it publishes. */
  readonly detail: string | undefined;
  /** Position of the last event that is known to be on the topic. Undefined: unknown, as on an instance that only stands by. */
  readonly published: number | undefined;
  /** Events in the log that are not known to be on the topic; undefined while `published` is. */
  readonly lagEvents: number | undefined;
  /** Age of the oldest of them, in seconds; 0 when there is none. */
  readonly lagSeconds: number | undefined;
}

/** Most details that are told while the state stays the same. */
const MAX_TOLD = 20;

/** Keeps the status, and tells of each change of state, and of each detail once while the state stays the same. */
export class StatusKeeper {
  readonly #onChange: (status: PublisherStatus) => void;
  readonly #told = new Set<string | undefined>();
  #state: PublisherState = 'starting';
  #since = new Date().toISOString();
  #detail: string | undefined;
  #published: number | undefined;
  #head = 0;
  /** Milliseconds since 1970 of the oldest event that is not published, as far as is known. */
  #oldest: number | undefined;

  constructor(onChange: (status: PublisherStatus) => void) {
    this.#onChange = onChange;
  }

  /** The status as of now. */
  get status(): PublisherStatus {
    const published = this.#published;
    const lagEvents = published === undefined ? undefined : Math.max(this.#head - published, 0);
    const age = this.#oldest === undefined ? 0 : Math.max(Date.now() - this.#oldest, 0) / 1000;
    return {
      state: this.#state,
      since: this.#since,
      detail: this.#detail,
      published,
      lagEvents,
      lagSeconds: lagEvents === undefined ? undefined : lagEvents === 0 ? 0 : age,
    };
  }

  /** Position of the last event that is known to be on the topic. */
  get published(): number | undefined {
    return this.#published;
  }

  /** Enters a state, or stays in it for another reason. */
  enter(state: PublisherState, detail?: string): void {
    if (state !== this.#state) {
      this.#since = new Date().toISOString();
      this.#told.clear();
    }
    this.#state = state;
    this.#detail = detail;
    if (state === 'standby') this.#published = undefined;
    // An outage that goes on has now this reason and now that.
    if (this.#told.has(detail) || this.#told.size === MAX_TOLD) return;
    this.#told.add(detail);
    this.#onChange(this.status);
  }

  /** The topic ends at a position. */
  reached(position: number): void {
    this.#published = position;
    this.#head = Math.max(this.#head, position);
  }

  /** The log ends at a position, and the oldest event that is not published has this time, if there is one. */
  measured(head: number, oldest: number | undefined): void {
    this.#head = Math.max(this.#head, head);
    this.#oldest = oldest;
  }
}
