import { isSamePlant, type Plant, plantFields } from '../../../src/domain/plant.ts';
import { plantEventOf } from '../../../src/log/event/event.ts';
import type { Step } from '../../../src/plants/watch/channel.ts';
import type { Truth } from './truth.ts';
import { Violation } from './violation.ts';

/** Judges what one reader hears of an owner's plants, over all the streams that it opens one after the other. */
export class WatchJudge {
  readonly owner: string;
  readonly #truth: Truth;
  #plants = new Map<bigint, Plant>();
  /** Everything of the owner up to here was told. Undefined: the state is not complete. */
  position: number | undefined;
  /** Positions that the next state must include. */
  #from = 0;
  /** Whether the stream may be of rows that were damaged. */
  #mayBeWrong = () => false;

  constructor(owner: string, truth: Truth) {
    this.owner = owner;
    this.#truth = truth;
  }

  /**
   * The reader opens a stream. `known`: what its state must include, if it begins with one. `mayBeWrong`: whether that
   * may be of rows that were damaged.
   */
  opened(known: number, mayBeWrong: () => boolean): void {
    this.#from = known;
    this.#mayBeWrong = mayBeWrong;
    if (this.position === undefined) this.#plants.clear();
  }

  /** A backup was restored: the reader starts again. */
  restart(): void {
    this.position = undefined;
    this.#from = 0;
    this.#plants.clear();
  }

  /** The reader gets a step. Throws Violation. */
  take(step: Step): void {
    if (step.type === 'reset') {
      this.#plants.clear();
      this.position = undefined;
    } else if (step.type === 'ready') this.#ready(step.position);
    else if (step.position === undefined) this.#plants.set(step.plant.id, plantFields(step.plant));
    else this.#changed(step.position, step);
  }

  /** Whether the reader has heard of everything, and has the plants that there are. */
  get isCaughtUp(): boolean {
    return this.position !== undefined && this.#next(this.position) === undefined && this.#isRightAt(this.position);
  }

  /** What the reader has not heard of, in words. */
  get missing(): string {
    const next = this.position === undefined ? undefined : this.#next(this.position);
    return `a reader of ${this.owner} at ${this.position}, with ${this.#ids}, has not heard of ${next?.position ?? 'the state'}`;
  }

  #ready(position: number): void {
    // Events of other owners do not matter. After an erasure, the rest comes event by event.
    const isErasure = this.#truth.erasedAt(this.owner, position) === position;
    if (!isErasure && (this.#next(position)?.position ?? this.#from + 1) <= this.#from)
      throw this.#wrong(`ready at ${position}, before ${this.#from}, which was known`);
    if (!this.#isRightAt(position) && !this.#mayBeWrong())
      throw this.#wrong(
        `the state at ${position} is ${this.#ids}, and was ${[...this.#truth.plantsAt(this.owner, position).keys()]}`,
      );
    this.position = position;
  }

  #isRightAt(position: number): boolean {
    const plants = this.#truth.plantsAt(this.owner, position);
    return plants.size === this.#plants.size && [...plants].every(([id, plant]) => this.#has(id, plant));
  }

  #changed(position: number, step: Extract<Step, { position: number }>): void {
    if (this.position === undefined) throw this.#wrong(`${position} comes before the state is complete`);
    const next = this.#next(this.position);
    if (next?.position !== position || step.type === 'ready')
      throw this.#wrong(`${position} comes after ${this.position}, and next is ${next?.position}`);
    const event = plantEventOf(next);
    if (event === undefined) throw this.#wrong(`${position} is no change of a plant`);
    if (step.type === 'deleted') {
      const isThere = this.#plants.delete(step.id) || this.#truth.isMisled || this.#mayBeWrong();
      if (event.type !== 'PlantDeleted' || !isThere) throw this.#wrong(`${position} deletes nothing`);
    } else {
      if (event.type !== 'PlantAdded' || !isSamePlant(event, step.plant))
        throw this.#wrong(`${position} is another event`);
      this.#plants.set(step.plant.id, plantFields(step.plant));
    }
    this.position = position;
  }

  #has(id: bigint, plant: Plant): boolean {
    const known = this.#plants.get(id);
    return known !== undefined && isSamePlant(known, plant);
  }

  get #ids(): string {
    return `${[...this.#plants.keys()]}`;
  }

  #next(after: number) {
    for (const event of this.#truth.of(this.owner)) if (event.position > after) return event;
    return undefined;
  }

  #wrong(why: string): Violation {
    return new Violation('watch', `a reader of ${this.owner}: ${why}`, this.owner);
  }
}
