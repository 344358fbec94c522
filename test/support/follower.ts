import { setTimeout as sleep } from 'node:timers/promises';
import { EventStreamReader, type ServerEvent } from './event-stream.ts';

/** A plant of a stream as JSON. Ids are text, so that none loses a digit. */
export type Followed = ReadonlyMap<string, string>;

/** The follower's state at a position. */
export interface Observation {
  readonly position: number;
  readonly isReady: boolean;
  readonly plants: Followed;
}

/** What a client stores to resume later: the state and the last event id. */
export interface Bookmark {
  readonly lastEventId: string;
  readonly plants: Followed;
}

/** A client that tracks an owner's plants with event streams, and reconnects when one ends, as the docs recommend. */
export class Follower {
  /** Its state at each known position. */
  readonly observations: Observation[] = [];
  /** Runs of positions of consecutive events. */
  readonly runs: { readonly from: number; readonly positions: number[] }[] = [];
  /** Number of resets. */
  resets = 0;
  streams = 0;
  #plants = new Map<string, string>();
  #lastEventId = '';
  #isReady = false;

  /** What it would store now; undefined while a state is incomplete. */
  get bookmark(): Bookmark | undefined {
    return this.#isReady ? { lastEventId: this.#lastEventId, plants: new Map(this.#plants) } : undefined;
  }

  get position(): number {
    return this.#isReady ? Number(this.#lastEventId) : -1;
  }

  /** Restores what it stored. */
  restore({ lastEventId, plants }: Bookmark): void {
    this.#lastEventId = lastEventId;
    this.#plants = new Map(plants);
    this.#isReady = true;
    this.runs.push({ from: Number(lastEventId), positions: [] });
  }

  /** Reads one stream to its end, for a number of bytes, or for a time. */
  async follow(url: string, cutAfter?: number, milliseconds?: number): Promise<void> {
    if (!this.#isReady) this.#plants.clear();
    const options = { lastEventId: this.#lastEventId, ...(cutAfter !== undefined && { cutAfter }) };
    const stream = await EventStreamReader.open(url, options).catch(() => undefined);
    if (stream === undefined || stream.response.statusCode !== 200) {
      stream?.close();
      await sleep(20);
      return;
    }
    this.streams++;
    const timer = milliseconds === undefined ? undefined : setTimeout(() => stream.close(), milliseconds);
    for await (const event of stream.events()) this.#take(event);
    clearTimeout(timer);
    this.#lastEventId = stream.parser.lastEventId;
  }

  #take({ type, data, lastEventId }: ServerEvent): void {
    this.#lastEventId = lastEventId;
    const [, id] = /^\{"id":(-?\d+)[,}]/.exec(data) ?? [];
    if (type === 'reset') {
      this.resets++;
      this.#plants.clear();
      this.#isReady = false;
    } else if (type === 'added') {
      if (this.#plants.has(id!)) throw new Error(`${id} was added twice`);
      this.#plants.set(id!, data);
    } else if (type === 'deleted') {
      if (!this.#plants.delete(id!)) throw new Error(`${id} was deleted and not there`);
    } else if (type !== 'ready') throw new Error(`what is ${type}?`);
    if (type === 'ready') {
      this.#isReady = true;
      this.runs.push({ from: Number(lastEventId), positions: [] });
    }
    if (!this.#isReady) return;
    const position = Number(lastEventId);
    if (type !== 'ready') this.runs.at(-1)!.positions.push(position);
    this.observations.push({ position, isReady: type === 'ready', plants: new Map(this.#plants) });
  }
}
