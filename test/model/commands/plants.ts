import fc from 'fast-check';
import { expect } from 'vitest';
import type { Command } from '../../../src/domain/decider.ts';
import { PlantStoreError, type Reason } from '../../../src/domain/errors.ts';
import type { Plant } from '../../../src/domain/plant.ts';
import type { ListQuery } from '../../../src/log/view/listing.ts';
import type { Model } from '../model.ts';
import { NURSERY, nameOf, OWNERS, type World } from '../world.ts';
import { Step } from './step.ts';

/** A plant that steps are about, and the instance that they are sent to. */
export interface Target {
  readonly instance: number;
  readonly owner: string;
  readonly id: bigint;
}

const show = ({ owner, id }: Target): string => `${owner}/${id}`;

/** Sends a command, and compares its outcome with what has to come of it. */
async function submit(
  model: Model,
  world: World,
  number: number,
  command: Command,
  refusal: Reason | undefined,
): Promise<string> {
  const outcome = await world
    .instance(number)
    .log.submit(command)
    .catch((error: unknown) => error as Error);
  if (outcome instanceof Error) {
    const reason = outcome instanceof PlantStoreError ? outcome.reason : outcome;
    expect(reason, 'the refusal').toBe(refusal ?? 'accepted');
    return `${reason}`;
  }
  expect(refusal, `accepted at ${outcome.position}, and to be refused`).toBeUndefined();
  expect(outcome.position, 'the position of the event').toBe(model.log.length + 1);
  for await (const events of world.instance(number).log.read(outcome.position - 1))
    for (const event of events) model.take(event);
  return `event ${outcome.position}`;
}

/** A plant that is there is not added once more, and one that is not there is not deleted: nothing comes of either. */
export async function refuses(model: Model, world: World, target: Target): Promise<void> {
  const { instance, owner, id } = target;
  const about = { owner, actor: owner };
  if (model.has(owner, id)) {
    const again: Command = { type: 'AddPlant', ...about, plant: { id, name: 'once more', tag: undefined } };
    await submit(model, world, instance, again, 'PLANT_ALREADY_EXISTS');
  } else await submit(model, world, instance, { type: 'DeletePlant', ...about, id }, 'PLANT_NOT_FOUND');
}

/** A plant is added, or refused where there is one. */
export class Add extends Step {
  readonly #target: Target;
  readonly #plant: Plant;

  constructor(target: Target, plant: Plant) {
    super();
    this.#target = target;
    this.#plant = plant;
  }

  override check(model: Readonly<Model>): boolean {
    return !model.isDamaged(this.#target);
  }

  protected act(model: Model, world: World): Promise<string> {
    const { owner, id, instance } = this.#target;
    const command: Command = { type: 'AddPlant', owner, actor: owner, plant: { id, ...this.#plant } };
    return submit(model, world, instance, command, model.has(owner, id) ? 'PLANT_ALREADY_EXISTS' : undefined);
  }

  toString(): string {
    return `add ${show(this.#target)} on ${nameOf(this.#target.instance)}`;
  }
}

/** A plant is deleted, or not found. */
export class Delete extends Step {
  readonly #target: Target;

  constructor(target: Target) {
    super();
    this.#target = target;
  }

  override check(model: Readonly<Model>): boolean {
    return !model.isDamaged(this.#target);
  }

  protected act(model: Model, world: World): Promise<string> {
    const { owner, id, instance } = this.#target;
    const command: Command = { type: 'DeletePlant', owner, actor: owner, id };
    return submit(model, world, instance, command, model.has(owner, id) ? undefined : 'PLANT_NOT_FOUND');
  }

  toString(): string {
    return `delete ${show(this.#target)} on ${nameOf(this.#target.instance)}`;
  }
}

/** A page of a list, with any bounds. */
export class List extends Step {
  readonly #instance: number;
  readonly #query: ListQuery;

  constructor(instance: number, query: ListQuery) {
    super();
    this.#instance = instance;
    this.#query = query;
  }

  /** Where something is damaged, which plants a limit cuts off may be anything. */
  override check(model: Readonly<Model>): boolean {
    return this.#query.limit === undefined || model.isWhole(this.#query.owner);
  }

  protected async act(model: Model, world: World): Promise<string> {
    await world.lists(model, this.#instance, this.#query);
    return 'right';
  }

  toString(): string {
    const { owner, after = '', limit = 'all' } = this.#query;
    return `list ${limit} of ${owner} after ${after || 'the first'} on ${nameOf(this.#instance)}`;
  }
}

const instances = fc.nat(1);
/** Few, so that steps meet on the same plants. */
export const IDS: readonly bigint[] = [0n, 1n, 2n, 3n];

const ids = fc.constantFrom(...IDS);

/** Plants that meet one another: few of two owners, and now and then one among the many of the nursery. */
export const targets: fc.Arbitrary<Target> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ instance: instances, owner: fc.constantFrom(...OWNERS), id: ids }) },
  {
    weight: 1,
    arbitrary: fc.record({
      instance: instances,
      owner: fc.constant(NURSERY),
      id: fc.constantFrom(0n, 998n, 999n, 1_000n, 1_099n, 1_100n, 2_000n),
    }),
  },
);

const plants: fc.Arbitrary<Plant> = fc.record({
  name: fc.constantFrom('Fern', 'Moss', '', '🌱'),
  tag: fc.constantFrom(undefined, '', 'indoor'),
});

const queries: fc.Arbitrary<ListQuery> = fc.oneof(
  fc.record({ owner: fc.constantFrom(...OWNERS), after: fc.constant(undefined), limit: fc.constant(undefined) }),
  fc.record({
    owner: fc.constantFrom(...OWNERS, NURSERY),
    after: fc.constantFrom(undefined, 0n, 2n, 998n, 1_098n),
    limit: fc.constantFrom(undefined, 0, 1, 2, 1_000, 1_101),
  }),
);

/** What owners do. */
export const adds = fc.tuple(targets, plants).map((args) => new Add(...args));
/** What owners do. */
export const deletes = targets.map((target) => new Delete(target));
/** What owners do. */
export const lists = fc.tuple(instances, queries).map((args) => new List(...args));
