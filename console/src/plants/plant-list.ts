import type { Change, Plant } from '../../../client/index.ts';
import { setTexts } from './texts.ts';

/** The caller's plants in ascending id, built from a stream of events. */
export class PlantList {
  readonly #plants = new Map<bigint, Plant>();
  readonly #ids: bigint[] = [];

  get size(): number {
    return this.#ids.length;
  }

  /** The plant at a place of the list, from 0. */
  at(index: number): Plant {
    return this.#plants.get(this.#ids[index]!)!;
  }

  /** The plants whose id begins with the text, or one of whose texts contains it. */
  find(text: string): Plant[] {
    const wanted = text.toLowerCase();
    return this.#ids
      .values()
      .map((id) => this.#plants.get(id)!)
      .filter(
        (plant) =>
          String(plant.id).startsWith(wanted) ||
          setTexts(plant).some(({ text }) => text.toLowerCase().includes(wanted)),
      )
      .toArray();
  }

  /** Applies a change to one plant. */
  take(change: Extract<Change, { type: 'added' | 'deleted' }>): void {
    if (change.type === 'deleted') {
      if (this.#plants.delete(change.id)) this.#ids.splice(this.#placeOf(change.id), 1);
      return;
    }
    const { plant } = change;
    const { id } = plant;
    if (!this.#plants.has(id)) {
      const last = this.#ids.at(-1);
      if (last === undefined || last < id) this.#ids.push(id);
      else this.#ids.splice(this.#placeOf(id), 0, id);
    }
    this.#plants.set(id, plant);
  }

  /** Where an id is, or would be. */
  #placeOf(id: bigint): number {
    let low = 0;
    let high = this.#ids.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#ids[middle]! < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
