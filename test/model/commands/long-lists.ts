import fc from 'fast-check';
import { expect } from 'vitest';
import type { Listing, ListQuery } from '../../../src/log/view/listing.ts';
import { collect } from '../../support/fold.ts';
import type { Model } from '../model.ts';
import { Task } from '../task.ts';
import { NURSERY, nameOf, sameList, type World } from '../world.ts';
import { Step } from './step.ts';
import { count } from './tasks.ts';

/** Long lists that may be open at once. */
const OPEN = 3;

/** The nursery's plants are listed, page by page, while all else goes on. They are as of now, whenever they are read. */
export class OpenLongList extends Step {
  readonly #instance: number;
  readonly #limit: number | undefined;

  constructor(instance: number, limit: number | undefined) {
    super();
    this.#instance = instance;
    this.#limit = limit;
  }

  override check(model: Readonly<Model>): boolean {
    return count(model, 'list') < OPEN && (this.#limit === undefined || model.isWhole(NURSERY));
  }

  protected async act(model: Model, world: World): Promise<string> {
    const query: ListQuery = { owner: NURSERY, after: undefined, limit: this.#limit };
    const [expected, damaged] = [model.list(query), new Set(model.damaged.keys())];
    const instance = world.instance(this.#instance);
    const task = await Task.begin(async (gate): Promise<Listing> => {
      const list = await instance.listing(gate, () => instance.log.list(query));
      return { ...list, plants: await collect(list) };
    });
    const judge = async () => {
      const outcome = task.outcome!;
      if ('value' in outcome) return sameList(outcome.value, expected, damaged, query, 'a long list');
      // It may end with an error when its rows or its instance are gone. As if it were whole it may never end early.
      const gone = !world.instances.includes(instance);
      if (!gone) throw outcome.error;
      expect(outcome.error, 'why a long list ended').toMatchObject({ name: 'PlantStoreError' });
    };
    model.tasks.push('list');
    world.running.push({ task, judge });
    return task.gate.waiting === undefined ? 'done' : 'waits for its first page';
  }

  toString(): string {
    return `open a long list of ${this.#limit ?? 'all'} on ${nameOf(this.#instance)}`;
  }
}

/** What owners of many plants do. */
export const longLists = fc
  .tuple(fc.nat(1), fc.constantFrom(undefined, 1_050))
  .map((args) => new OpenLongList(...args));
