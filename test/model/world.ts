import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { keyString } from '../../src/domain/plant.ts';
import type { Store } from '../../src/log/store.ts';
import { GENERATION_LIMIT } from '../../src/log/view/generation.ts';
import type { Listing, ListQuery } from '../../src/log/view/listing.ts';
import { verdictOf } from '../store/audit-tampering.ts';
import { added, append, project } from '../support/events.ts';
import { collect } from '../support/fold.ts';
import { SOAK } from '../support/soak.ts';
import { Instance, type InstanceOptions } from './instance.ts';
import { differences, type Model } from './model.ts';
import type { Platform } from './platform.ts';
import { Story } from './story.ts';
import type { Task } from './task.ts';

/** Owners with a few plants. */
export const OWNERS = ['alice', 'bob'] as const;
/** The owner of a list that is not held in memory: streamed from a snapshot, in several pages. */
export const NURSERY = 'nursery';
/** More than the rows of one page on any store. */
export const NURSERY_PLANTS = 1_100;
/** Characters that make such a list take more than a list in memory may. */
const LABEL = 'so long a label that few plants make a long list; '.repeat(2);

/** A task, and how its end is judged. */
export interface Running {
  readonly task: Task;
  /** Throws unless it ended as it may. */
  readonly judge: (model: Model) => Promise<void> | void;
  /** Hears after each step of anybody what is true then. */
  readonly watch?: (wrong: string | undefined) => void;
}

/** What a list has to be while nothing is damaged. */
export type ExpectedList = ReturnType<Model['list']>;

/** The system under test: one database, the instances on it, and what goes on beside them. */
export class World {
  readonly story = new Story();
  platform: Platform;
  readonly instances: Instance[] = [];
  readonly running: Running[] = [];
  /** When the last repair was done, and which damages it has found, until no instance remembers the rows before. */
  #repaired: { readonly at: number; readonly damages: number } | undefined;
  readonly #options: readonly InstanceOptions[];
  #auditor!: Store;
  /** What the last verification was to say. */
  #verified: string | undefined;

  private constructor(platform: Platform, options: readonly InstanceOptions[]) {
    this.platform = platform;
    this.#options = options;
  }

  /** Makes the nursery's plants in an empty database, and starts the instances. */
  static async open(platform: Platform, options: readonly InstanceOptions[], model: Model): Promise<World> {
    const world = new World(platform, options);
    const operator = await platform.openOperator();
    const plants = Array.from({ length: NURSERY_PLANTS }, (_, id) => added(NURSERY, BigInt(id), `${LABEL}${id}`));
    for (const event of await append(operator, ...plants)) model.take(event);
    await project(operator);
    await operator.close();
    await world.start();
    return world;
  }

  /** Does what steps are told in: when it fails, the error tells the story. */
  async tell(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      throw new Error(`${this.story}\n${(error as Error).message}`, { cause: error });
    }
  }

  /** An instance by any number. */
  instance(number: number): Instance {
    return this.instances[number % this.instances.length]!;
  }

  /** What `audit verify` and `audit export` read. */
  get auditor(): Store {
    return this.#auditor;
  }

  async start(): Promise<void> {
    this.#auditor = await this.platform.openAuditor();
    for (let number = 0; number < this.platform.instances; number++)
      this.instances.push(await Instance.open(await this.platform.openInstance(), this.#options[number]!));
  }

  async stop(): Promise<void> {
    for (const instance of this.instances.splice(0)) await instance.close();
    await this.#auditor.close();
  }

  async restart(number: number): Promise<void> {
    const index = number % this.instances.length;
    await this.instances[index]!.close();
    this.instances[index] = await Instance.open(await this.platform.openInstance(), this.#options[index]!);
  }

  /** Stops everything and removes all data. */
  async remove(): Promise<void> {
    for (const { task } of this.running) await task.kill(false);
    await this.stop();
    await this.platform.remove();
  }

  /** The first plant whose row is not what the log says, such as `alice/7`; undefined: the read model is right. */
  async firstWrongRow(model: Model): Promise<string | undefined> {
    const { rows, checkpoint } = await this.platform.rows();
    expect(checkpoint, 'the checkpoint is within the log').toBeLessThanOrEqual(model.log.length);
    const wrong = differences(model.rows(checkpoint), rows);
    const nobodys = wrong.filter((key) => !model.isDamaged(key)).map(({ owner, id }) => `${owner}/${id}`);
    expect(nobodys, 'rows that are wrong though nobody damaged them').toEqual([]);
    return wrong[0] && `${wrong[0].owner}/${wrong[0].id}`;
  }

  /** Hears that a repair is done, which has found so many of the damages. */
  repaired(damages: number): void {
    this.#repaired = { at: performance.now(), damages: Math.max(damages, this.#repaired?.damages ?? 0) };
  }

  /** Waits until a repair that is done has mended all that instances may have made of the rows before. */
  async #mended(model: Model): Promise<void> {
    if (this.#repaired === undefined) return;
    const { at, damages } = this.#repaired;
    await sleep(Math.max(0, at + GENERATION_LIMIT - performance.now()));
    this.#repaired = undefined;
    for (const [key, damage] of model.damaged) if (damage <= damages) model.damaged.delete(key);
  }

  /** Tells the tasks what is so now. Returns the first wrong row. */
  async look(model: Model): Promise<string | undefined> {
    await this.#mended(model);
    const wrong = await this.firstWrongRow(model);
    for (const { watch } of this.running) watch?.(wrong);
    return wrong;
  }

  /** What has to hold after every step. */
  async holds(model: Model): Promise<void> {
    const wrong = await this.look(model);
    for (const [number, instance] of this.instances.entries()) {
      expect((await instance.log.head()).position, `the head on ${nameOf(number)}`).toBe(model.log.length);
      // Each time a query of its own: no instance remembers its answer, so it is read.
      const before = -BigInt(this.story.steps);
      for (const owner of OWNERS) await this.lists(model, number, { owner, after: before, limit: undefined });
      for (const query of model.remembered) await this.lists(model, number, query);
      if (model.isWhole(NURSERY))
        for (const after of [before, 997n]) await this.lists(model, number, { owner: NURSERY, after, limit: 5 });
    }
    // It reads the whole log: in short runs only when its answer is to be another one.
    if (SOAK || wrong !== this.#verified) await this.#verifies(wrong);
  }

  /** A list on an instance is that of the model, but for what is damaged. */
  async lists(model: Model, number: number, query: ListQuery): Promise<void> {
    const list = await this.instance(number).log.list(query);
    await sameList(list, model.list(query), new Set(model.damaged.keys()), query, `a list on ${nameOf(number)}`);
  }

  /** The verification says what is so. */
  async #verifies(wrong: string | undefined): Promise<void> {
    const { places } = await verdictOf(this.#auditor);
    expect(places, 'what audit verify finds').toEqual(wrong === undefined ? {} : { read_model: wrong });
    this.#verified = wrong;
  }
}

/** How the story calls an instance. */
export const nameOf = (number: number): string => 'AB'[number]!;

/** Compares a list with what it has to be. What was damaged when it was read may be anything, in a list without a limit. */
export async function sameList(
  list: Listing,
  expected: ExpectedList,
  damaged: ReadonlySet<string>,
  { owner }: ListQuery,
  what: string,
): Promise<void> {
  const isKnown = ({ id }: { id: bigint }) => !damaged.has(keyString(owner, id));
  const plants = (await collect(list)).filter(isKnown);
  expect(plants.length, `${what} of ${owner}: how many plants`).toBe(expected.plants.filter(isKnown).length);
  expect({ plants, next: list.next }, `${what} of ${owner}`).toEqual({
    plants: expected.plants.filter(isKnown),
    next: expected.next,
  });
}
