import { keyOf, leavesPlant } from '../../domain/events.ts';
import { keyString, type PlantKey, withKey } from '../../domain/plant.ts';
import { Backoff, repeat } from '../../time/backoff.ts';
import { monotonic } from '../../time/host.ts';
import { Pace, pause } from '../../time/pause.ts';
import { type LoggedEvent, plantEventOf } from '../event/event.ts';
import { LEASE_RENEWAL, Lease } from '../lease.ts';
import { BrokenReadModelError, type Changes, type OwnedRow, PROJECTOR_LEASE, type Store } from '../store.ts';
import type { Follower } from '../tail/follower.ts';
import { extended } from '../tail/read.ts';
import { NodeBuilder } from '../tree/nodes.ts';

/** Milliseconds that a step waits for more events to gather. */
const GATHER_PAUSE = 250;
/** First and longest pause after a failed step, in milliseconds. */
const FIRST_PAUSE = 200;
const MAX_PAUSE = 2_000;
/** Milliseconds between two reads of the checkpoint while there is nothing to project, or no use in trying. */
const POLL_INTERVAL = 500;
/** Milliseconds for which the lease is kept, however busy the log is: a repair waits for it. */
const LEASE_LIMIT = 5_000;
/** Milliseconds for which the lease is then left to others: more than a repair takes to ask for it again. */
const LEASE_PAUSE = 500;

/** The events of the next step of the read model: those before the first OwnerErased event, or that event alone. */
export function firstStep(events: readonly LoggedEvent[]): readonly LoggedEvent[] {
  const end = events.findIndex(({ type }, index) => index > 0 && type === 'OwnerErased');
  if (events[0]?.type === 'OwnerErased') return events.slice(0, 1);
  return end < 0 ? events : events.slice(0, end);
}

/** Does a step of the read model; see Store.advance. `rest` is awaited before each further call, unless it says no. */
export async function advanced(
  store: Store,
  step: Parameters<Store['advance']>,
  rest: (pace: Pace) => Promise<boolean>,
): Promise<boolean | undefined> {
  for (const pace = new Pace(); ; ) {
    const isDone = await store.advance(...step);
    if (isDone !== undefined || !(await rest(pace))) return isDone;
  }
}

/**
 * Folds events into one step of the read model. A key's last event alone decides its row. A plant that the step deletes
 * has no row of before, whatever there was; one that it only adds must have had none.
 */
export function changesOf(events: readonly LoggedEvent[]): Changes {
  const deletes = new Map<string, PlantKey>();
  const inserts = new Map<string, OwnedRow>();
  for (const event of events.map(plantEventOf)) {
    if (event === undefined) continue;
    const key = keyString(event.owner, event.plantId);
    if (event.type !== 'PlantAdded') deletes.set(key, keyOf(event));
    if (leavesPlant(event)) inserts.set(key, withKey(keyOf(event), event));
    else inserts.delete(key);
  }
  // An erasure has a step of its own.
  return { deletes: [...deletes.values()], inserts: [...inserts.values()], erased: events[0]?.erases?.owner };
}

/**
 * Advances the read model, and the nodes of the log's tree, behind the log. One instance does so, by lease. If two do,
 * the checkpoint comparison refuses one. Decisions and lists use the tail and never wait for it.
 */
export class Projector {
  readonly #follower: Follower;
  readonly #lease: Lease;
  readonly #onFault: (error: unknown) => void;
  readonly #onBroken: (fault: BrokenReadModelError | undefined) => void;
  readonly #stop = new AbortController();
  /** What was told last to be wrong with the read model. */
  #broken: string | undefined;
  #nodes: NodeBuilder | undefined;
  #restAt = monotonic() + LEASE_LIMIT;

  /** `onBroken` gets the fault when the read model cannot be used, and undefined once it can; `onFault` the rest. */
  constructor(
    follower: Follower,
    onFault: (error: unknown) => void,
    onBroken: (fault: BrokenReadModelError | undefined) => void,
  ) {
    this.#follower = follower;
    this.#lease = new Lease(follower.store, PROJECTOR_LEASE);
    this.#onFault = onFault;
    this.#onBroken = onBroken;
  }

  /** Projects until `stop`. Resolves when it has stopped. Reports faults and tries again after a pause. */
  async run(): Promise<void> {
    await repeat(() => this.#watchedStep(), this.#stop.signal, new Backoff(FIRST_PAUSE, MAX_PAUSE), this.#onFault);
  }

  /** Ends `run` after the current step. */
  stop(): void {
    this.#stop.abort();
  }

  /** Every instance reads the checkpoint, also one that has nothing to project: its lists need it. */
  async #watchedStep(): Promise<void> {
    try {
      if (this.#broken !== undefined) {
        const before = this.#follower.tail.checkpoint;
        await this.#readCheckpoint();
        if (this.#follower.tail.checkpoint > before) this.#tell(undefined);
      }
      await this.#step();
    } catch (error) {
      if (!(error instanceof BrokenReadModelError)) throw error;
      this.#tell(error);
      // Whoever repairs the read model waits for it.
      await this.#lease.giveBack();
      await pause(POLL_INTERVAL, this.#stop.signal);
    }
  }

  /** Tells what is new. The read model is right again once it has moved, or is at the head. */
  #tell(fault: BrokenReadModelError | undefined): void {
    if (fault?.message === this.#broken) return;
    this.#broken = fault?.message;
    this.#onBroken(fault);
  }

  async #step(): Promise<void> {
    if (this.#follower.tail.checkpoint >= this.#follower.tail.head.position) {
      this.#tell(undefined);
      return this.#untilExtended();
    }
    if (!(await this.#lease.has().catch(this.#onFault))) {
      await this.#readCheckpoint();
      return pause(LEASE_RENEWAL, this.#stop.signal);
    }
    if (this.#isWorthWaiting()) await pause(GATHER_PAUSE, this.#stop.signal);
    const from = this.#follower.tail.checkpoint;
    const events = firstStep(this.#follower.tail.after(from, this.#follower.store.advanceLimit));
    // Another instance has projected them meanwhile. A step that moves nothing is a repair.
    if (events.length === 0) return;
    const to = events.at(-1)!.position;
    // After a step that failed, or was another instance's, it stands elsewhere.
    if (this.#nodes?.position !== from) this.#nodes = await NodeBuilder.after(this.#follower.store, from);
    const [changes, nodes] = [changesOf(events), this.#nodes.add(events)];
    const isDone = await advanced(this.#follower.store, [from, to, changes, nodes], (pace) => this.#mayGoOn(pace));
    if (isDone) {
      this.#follower.tail.projected(to);
      this.#tell(undefined);
    } else if (isDone === false) await this.#readCheckpoint();
    if (monotonic() >= this.#restAt) await this.#rest();
  }

  /** Whether the next step could take more events than there are. One that is before an erasure, or is one, cannot. */
  #isWorthWaiting(): boolean {
    const { advanceLimit } = this.#follower.store;
    const events = this.#follower.tail.after(this.#follower.tail.checkpoint, advanceLimit);
    return events.length < advanceLimit && events.every(({ type }) => type !== 'OwnerErased');
  }

  async #rest(): Promise<void> {
    await this.#lease.giveBack();
    await pause(LEASE_PAUSE, this.#stop.signal);
    this.#restAt = monotonic() + LEASE_LIMIT;
  }

  /** Whether to remove the next rows of an owner, after a pause for others. */
  async #mayGoOn(pace: Pace): Promise<boolean> {
    if (monotonic() >= this.#restAt) await this.#rest();
    // Otherwise the tail would be full before they are gone, and everybody's commands refused.
    else if (!this.#follower.isFilling) await pace.rest(this.#stop.signal);
    return !this.#stop.signal.aborted && this.#lease.has();
  }

  async #readCheckpoint(): Promise<void> {
    const known = this.#follower.tail.checkpoint;
    const checkpoint = await this.#follower.store.checkpoint();
    await this.#follower.reachCheckpoint({ checkpoint, upTo: checkpoint }, known);
  }

  async #untilExtended(): Promise<void> {
    const { tail } = this.#follower;
    const { head } = tail;
    if (!this.#stop.signal.aborted) await extended(tail, [this.#stop.signal], POLL_INTERVAL);
    if (!this.#stop.signal.aborted && tail.head === head) await this.#readCheckpoint();
  }
}
