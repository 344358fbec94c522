import { audit } from '../api/connect.ts';
import type { OwnedPlant } from './difference.ts';

/** Most remembered lists. They stay valid, because the log before a position never changes. */
const REMEMBERED = 4;

/** The plants of every owner, or of one, as they were at positions of the log. */
export class PlantsThen {
  readonly #lists = new Map<bigint, readonly OwnedPlant[]>();
  readonly #owner: string;

  constructor(owner: string) {
    this.#owner = owner;
  }

  /** The plants after the event at a position, in ascending owner and id. */
  async read(position: bigint, signal: AbortSignal): Promise<readonly OwnedPlant[]> {
    const known = this.#lists.get(position);
    if (known !== undefined) return known;
    const list: OwnedPlant[] = [];
    const request = {
      asOf: { case: 'position', value: position },
      ...(this.#owner && { owner: this.#owner }),
    } as const;
    for await (const { plants } of audit.listPlantsAsOf(request, { signal })) list.push(...plants);
    this.#lists.set(position, list);
    if (this.#lists.size > REMEMBERED) this.#lists.delete(this.#lists.keys().next().value!);
    return list;
  }
}
