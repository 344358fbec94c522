import fc from 'fast-check';
import { expect } from 'vitest';
import { keyOf } from '../../../src/domain/events.ts';
import { plantEventOf } from '../../../src/log/event/event.ts';
import type { Model } from '../model.ts';
import { nameOf, type World } from '../world.ts';
import { Step } from './step.ts';

/** Turns of waiting for what an instance reads in the background to end. */
const PATIENCE = 5_000;

/** The projector of an instance moves the read model to the end of the log. */
export class Project extends Step {
  readonly #instance: number;

  constructor(instance: number) {
    super();
    this.#instance = instance;
  }

  protected async act(model: Model, world: World): Promise<string> {
    const { checkpoint } = await world.platform.rows();
    const fault = await world.instance(this.#instance).project();
    if (fault !== undefined) {
      // A row that somebody took away cannot be deleted, and one that somebody put there is in the way.
      const meets = model.log.slice(checkpoint).some((logged) => {
        const event = plantEventOf(logged);
        return event !== undefined && model.isDamaged(keyOf(event));
      });
      if (!meets) throw fault;
      return `it stands still: ${(fault as Error).message}`;
    }
    await this.#forgets(world);
    return `checkpoint ${model.log.length}`;
  }

  /** No list that is being read, however slowly, holds the events of all owners in memory. */
  async #forgets(world: World): Promise<void> {
    const { log } = world.instance(this.#instance);
    for (let wait = 0; log.status.tail.events > 0 && wait < PATIENCE; wait++)
      await new Promise((resolve) => setTimeout(resolve, 1));
    expect(log.status.tail.events, 'events that are held in memory though the read model has them').toBe(0);
  }

  toString(): string {
    return `project on ${nameOf(this.#instance)}`;
  }
}

/** An instance ends as SIGTERM ends it, and starts again. */
export class Restart extends Step {
  readonly #instance: number;

  constructor(instance: number) {
    super();
    this.#instance = instance;
  }

  protected async act(_model: Model, world: World): Promise<string> {
    await world.restart(this.#instance);
    return 'up';
  }

  toString(): string {
    return `restart ${nameOf(this.#instance)}`;
  }
}

/** What goes on within an instance. */
export const projections = fc.nat(1).map((instance) => new Project(instance));
/** What operators do with an instance. */
export const restarts = fc.nat(1).map((instance) => new Restart(instance));
