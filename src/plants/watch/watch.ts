import type { Validity } from '../../auth/validity.ts';
import { type PlantStoreError, toPlantStoreError } from '../../domain/errors.ts';
import type { PlantRow } from '../../log/store.ts';
import type { Listing } from '../../log/view/listing.ts';
import type { Channel, Hearer, Mark } from './channel.ts';
import type { Step } from './step.ts';

/** Who reads a watch. None of these calls may throw. */
export interface Viewer {
  /** Bytes of steps that were taken and that the reader has not had yet. */
  readonly unsent: number;
  /** There may be steps to take. */
  news(): void;
  /** Nothing was to be told for a while. */
  quiet(): void;
  /** It is over, for this reason. Nothing more can be taken. */
  ended(why: PlantStoreError): void;
}

/** What a watch needs of who keeps it. */
export interface WatchKeeper {
  /** The list of an owner's plants, exact at its position, and at any position that this knew of before, if that is later. */
  state(owner: string): Promise<Listing>;
  /** The owner's events after a position up to `known`, at once after the log was looked at; undefined when memory cannot tell. */
  missed(after: number, owner: string): Promise<readonly Step[] | undefined>;
  /** The last position that was told of to all. */
  readonly known: number;
  told(steps: number): void;
  left(watch: Watch): void;
}

const NOTHING: readonly Step[] = [];
const RESET: readonly Step[] = [{ type: 'reset' }];

/**
 * One reader of what happens to the plants of an owner: how it begins, and then every event, once and in order. It begins to listen
 * before it looks at the state, and passes over the events that the state has already.
 */
export class Watch implements Hearer {
  readonly channel: Channel;
  readonly #keeper: WatchKeeper;
  readonly #validity: Validity;
  readonly #viewer: Viewer;
  /** Up to where everything was taken. */
  #mark: Mark;
  #why: PlantStoreError | undefined;
  #isOver = false;
  #isConfirming = false;
  #spoke = performance.now();

  constructor(keeper: WatchKeeper, channel: Channel, validity: Validity, viewer: Viewer) {
    this.#keeper = keeper;
    this.channel = channel;
    this.#validity = validity;
    this.#viewer = viewer;
    this.#mark = channel.end;
  }

  /**
   * How it begins, in batches: after a position, what was missed since; else the state and `ready`, behind `reset` where memory cannot
   * tell what was missed. To be read to its end before anything is taken. Rejects with PlantStoreError; the watch is over then.
   */
  async begin(after: number | undefined): Promise<AsyncIterable<readonly Step[]>> {
    try {
      return this.#whileOpen(await this.#beginning(after));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  async #beginning(after: number | undefined): Promise<Iterable<readonly Step[]> | AsyncIterable<readonly Step[]>> {
    const { owner } = this.channel;
    if (after !== undefined) {
      const missed = await this.#keeper.missed(after, owner);
      if (missed !== undefined) {
        this.#passOver(this.#keeper.known);
        return [missed];
      }
    }
    const { known } = this.#keeper;
    const list = await this.#keeper.state(owner);
    const position = Math.max(list.position, known);
    this.#passOver(position);
    return stateOf(list, position, after === undefined ? NOTHING : RESET);
  }

  #passOver(position: number): void {
    for (let mark = this.#mark.next; mark?.step !== undefined && mark.step.position <= position; mark = mark.next)
      this.#mark = mark;
  }

  async *#whileOpen(
    batches: Iterable<readonly Step[]> | AsyncIterable<readonly Step[]>,
  ): AsyncGenerator<readonly Step[]> {
    for await (const batch of batches) {
      if (!this.#validity.holds) await this.#validity.confirm();
      if (this.#why !== undefined) throw this.#why;
      if (this.#isOver) return;
      this.#tell(batch);
      yield batch;
    }
  }

  /** The events that have come, in order; the same array for all who stand at the same place. */
  take(): readonly Step[] {
    if (this.#isOver || this.#mark === this.channel.end) return NOTHING;
    if (!this.#validity.holds) {
      this.confirm();
      return NOTHING;
    }
    const steps = this.channel.after(this.#mark);
    this.#mark = this.channel.end;
    this.#tell(steps);
    return steps;
  }

  #tell(steps: readonly Step[]): void {
    this.#spoke = performance.now();
    this.#keeper.told(steps.length);
  }

  /** Bytes that have come and that the reader has not had. */
  get behind(): number {
    return this.channel.end.bytes - this.#mark.bytes + this.#viewer.unsent;
  }

  /** Lets the reader take what has come. */
  deliver(): void {
    if (!this.#isOver) this.#viewer.news();
  }

  /** Tells the reader when there was nothing to tell since that time, of performance.now(). */
  beat(since: number, now: number): void {
    if (this.#isOver || this.#spoke > since) return;
    this.#spoke = now;
    this.#viewer.quiet();
  }

  /** Looks whether the token counts, and ends the watch if it does not. What waits for that can be taken afterwards. */
  confirm(): void {
    if (this.#isConfirming || this.#validity.holds) return;
    this.#isConfirming = true;
    this.#validity
      .confirm()
      .then(
        () => this.deliver(),
        (refusal) => this.end(toPlantStoreError(refusal)),
      )
      .finally(() => {
        this.#isConfirming = false;
      });
  }

  /** Ends it, and tells the reader why. */
  end(why: PlantStoreError): void {
    if (this.#isOver) return;
    this.#why = why;
    this.close();
    this.#viewer.ended(why);
  }

  /** The reader has left. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // What comes later is not for it, and is not to be held by it.
    this.#mark = { step: undefined, bytes: 0, next: undefined };
    this.#keeper.left(this);
  }
}

async function* stateOf(
  { plants }: Listing,
  position: number,
  before: readonly Step[],
): AsyncGenerator<readonly Step[]> {
  const ready = { type: 'ready', position } as const;
  if (Symbol.iterator in plants) {
    yield [...before, ...plants.map(added), ready];
    return;
  }
  if (before.length > 0) yield before;
  for await (const batch of plants) if (batch.length > 0) yield batch.map(added);
  yield [ready];
}

const added = (plant: PlantRow): Step => ({ type: 'added', plant, position: undefined });
