import { wallTime } from '../time/host.ts';
/**
 * `starting`: unknown yet which instance publishes. `standby`: another instance publishes. `publishing`: this instance
 * publishes, possibly with a lag. `degraded`: this instance should publish but cannot.
 */
export type PublisherState = 'starting' | 'standby' | 'publishing' | 'degraded';

/** The status of publication, as known to this instance. */
export interface PublisherStatus {
  readonly state: PublisherState;
  /** Why publication is degraded, or what an operator should know although it works. */
  readonly detail: string | undefined;
  /** Position of the last event known to be on the topic. Undefined if unknown, as on an instance on standby. */
  readonly published: number | undefined;
  /**
   * Events in the log after `published`. While that is unknown: the events since this instance took over, which are the
   * least that can wait; undefined if there is none, because earlier ones may wait.
   */
  readonly lagEvents: number | undefined;
  /** Age of the oldest of these events in seconds; 0 if there is none, undefined while `lagEvents` is. */
  readonly lagSeconds: number | undefined;
}

/** Most details to report while the state stays the same. */
const MAX_REPORTED = 20;

/** Keeps the status. Reports each change of state, and each new detail once while the state stays the same. */
export class StatusReporter {
  readonly #onChange: (status: PublisherStatus) => void;
  readonly #reported = new Set<string | undefined>();
  #state: PublisherState = 'starting';
  #detail: string | undefined;
  #published: number | undefined;
  /**
   * The end of the log when this instance took over: no later event can be on the topic while `#published` is unknown.
   */
  #tookOverAt: number | undefined;
  #head = 0;
  /** Time of the oldest event known to wait, in milliseconds since 1970. */
  #oldest: number | undefined;

  constructor(onChange: (status: PublisherStatus) => void) {
    this.#onChange = onChange;
  }

  /** The current status. */
  get status(): PublisherStatus {
    const lagEvents = this.#lagEvents;
    const age = this.#oldest === undefined ? 0 : Math.max(wallTime() - this.#oldest, 0) / 1000;
    return {
      state: this.#state,
      detail: this.#detail,
      published: this.#published,
      lagEvents,
      lagSeconds: lagEvents === undefined ? undefined : lagEvents === 0 ? 0 : age,
    };
  }

  get #lagEvents(): number | undefined {
    if (this.#published !== undefined) return Math.max(this.#head - this.#published, 0);
    const since = this.#tookOverAt === undefined ? 0 : this.#head - this.#tookOverAt;
    return since > 0 ? since : undefined;
  }

  /** Enters a state, or changes the detail of the current one. */
  enter(state: PublisherState, detail?: string): void {
    if (state !== this.#state) this.#reported.clear();
    this.#state = state;
    this.#detail = detail;
    if (state === 'standby') {
      this.#published = undefined;
      this.#tookOverAt = undefined;
    }
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

  /** The log ends at `head`. Returns after which position events wait: the last published, or the end at takeover. */
  waitingAfter(head: number): number {
    this.#tookOverAt ??= head;
    return this.#published ?? this.#tookOverAt;
  }

  /** The log ends at position `head`. `oldest` is the time of the oldest event known to wait, if there is one. */
  measured(head: number, oldest: number | undefined): void {
    this.#head = Math.max(this.#head, head);
    this.#oldest = oldest;
  }
}
