import fc from 'fast-check';
import { keyString } from '../../../src/domain/plant.ts';
import type { Model } from '../model.ts';
import { NURSERY, type World } from '../world.ts';
import { refuses, type Target, targets } from './plants.ts';
import { Step } from './step.ts';

/** Queries that are asked again and again. */
const REMEMBERED = 3;
/** Ids that no owner has: to look for them makes an instance learn which ids the owner has. */
const NOWHERE = [50n, 51n];

/** A row of the read model is damaged behind the service's back: changed or removed, or invented where there is none. */
export class Damage extends Step {
  readonly #target: Target;
  readonly #removes: boolean;

  constructor(target: Target, removes: boolean) {
    super();
    this.#target = target;
    this.#removes = removes;
  }

  protected async act(model: Model, world: World): Promise<string> {
    const { owner, id } = this.#target;
    const { rows } = await world.platform.rows();
    const row = rows.find((each) => each.owner === owner && each.id === id);
    if (row !== undefined && this.#removes) await world.platform.removeRow({ owner, id });
    else await world.platform.putRow({ owner, id, name: `${row?.name ?? ''} Weed`, tag: row?.tag });
    model.damaged.set(keyString(owner, id), ++model.damages);
    if (owner !== NURSERY) await this.#remember(model, world);
    if (row === undefined) return 'invented';
    return this.#removes ? 'removed' : 'changed';
  }

  /** What instances make of the damaged rows, and may remember: lists, and which ids there are. */
  async #remember(model: Model, world: World): Promise<void> {
    const { owner } = this.#target;
    model.remembered.push({ owner, after: -1_000n - BigInt(world.story.steps), limit: undefined });
    if (model.remembered.length > REMEMBERED) model.remembered.shift();
    for (const instance of world.instances.keys())
      for (const id of NOWHERE) await refuses(model, world, { instance, owner, id });
  }

  toString(): string {
    return `damage the row ${this.#target.owner}/${this.#target.id} in the database`;
  }
}

/** What must not happen, and does. */
export const damages = fc.tuple(targets, fc.boolean()).map((args) => new Damage(...args));
