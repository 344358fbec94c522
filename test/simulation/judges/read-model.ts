import { isSamePlant, keyString, plantFields } from '../../../src/domain/plant.ts';
import { plantEventOf } from '../../../src/log/event/event.ts';
import type { OwnedRow } from '../../../src/log/store.ts';
import type { State, StoredRows } from '../store/state.ts';
import type { Truth } from './truth.ts';
import { Violation } from './violation.ts';

/** Judges the read model: at every instant it is exactly the fold of the log up to its checkpoint. */
export class ReadModelJudge {
  readonly #truth: Truth;
  #rows: StoredRows | undefined;
  #checkpoint = 0;
  readonly #fold = new Map<string, OwnedRow>();

  constructor(truth: Truth) {
    this.#truth = truth;
  }

  /** A backup was restored. Throws Violation. */
  restore(state: State): void {
    this.#fold.clear();
    this.#checkpoint = 0;
    this.#rows = undefined;
    this.take(state);
  }

  /** Takes the next state that a majority has. Throws Violation. */
  take({ rows, checkpoint = 0, upTo }: State): void {
    const removed =
      upTo > checkpoint ? this.#truth.erasedOwners.get(this.#truth.events[upTo - 1]?.eventId ?? '') : undefined;
    if (rows === this.#rows && checkpoint === this.#checkpoint) return;
    this.#rows = rows;
    if (checkpoint < this.#checkpoint)
      throw new Violation('read model', `the checkpoint went back from ${this.#checkpoint} to ${checkpoint}`);
    if (checkpoint > this.#truth.end)
      throw new Violation('read model', `the checkpoint is ${checkpoint}, and the log ends at ${this.#truth.end}`);
    for (; this.#checkpoint < checkpoint; this.#checkpoint++) this.#apply(this.#checkpoint);
    for (const [key, plant] of this.#fold) {
      const { owner } = plant;
      const row = rows.get(key);
      if (row === undefined && owner === removed) continue;
      if (row === undefined || !isSamePlant(row, plant))
        throw new Violation('read model', `at ${checkpoint}, ${key} is missing or wrong`, owner);
    }
    for (const [key, { owner }] of rows)
      if (!this.#fold.has(key))
        throw new Violation('read model', `at ${checkpoint}, ${key} should not be there`, owner);
  }

  #apply(index: number): void {
    const logged = this.#truth.events[index]!;
    const event = plantEventOf(logged);
    if (event === undefined) {
      const erased = this.#truth.erasedOwners.get(logged.eventId);
      for (const [key, { owner }] of this.#fold) if (owner === erased) this.#fold.delete(key);
      return;
    }
    const { owner, plantId: id } = event;
    const key = keyString(owner, id);
    if (event.type === 'PlantAdded') this.#fold.set(key, { owner, id, ...plantFields(event) });
    else this.#fold.delete(key);
  }
}
