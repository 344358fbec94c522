import fc from 'fast-check';
import { keyString } from '../../../src/domain/plant.ts';
import type { Model } from '../model.ts';
import type { World } from '../world.ts';
import { type Target, targets } from './plants.ts';
import { Step } from './step.ts';

/** What somebody does to a row who may write to the database. */
type Kind = 'change' | 'remove' | 'invent';

/** A row of the read model is damaged behind the service's back. */
export class Damage extends Step {
  readonly #kind: Kind;
  readonly #target: Target;

  constructor(kind: Kind, target: Target) {
    super();
    this.#kind = kind;
    this.#target = target;
  }

  protected async act(model: Model, { platform }: World): Promise<string> {
    const { owner, id } = this.#target;
    const { rows } = await platform.rows();
    const row = rows.find((each) => each.owner === owner && each.id === id);
    if ((row === undefined) !== (this.#kind === 'invent')) return 'there is nothing to do it to';
    if (this.#kind === 'remove') await platform.removeRow({ owner, id });
    else await platform.putRow({ owner, id, name: `${row?.name ?? ''} Weed`, tag: row?.tag });
    model.damaged.add(keyString(owner, id));
    return 'done';
  }

  toString(): string {
    return `${this.#kind} the row ${this.#target.owner}/${this.#target.id} in the database`;
  }
}

/** What must not happen, and does. */
export const damages = fc
  .tuple(fc.constantFrom<Kind>('change', 'remove', 'invent'), targets)
  .map((args) => new Damage(...args));
