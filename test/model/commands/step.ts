import type { AsyncCommand } from 'fast-check';
import type { Model } from '../model.ts';
import type { World } from '../world.ts';

/** One step of a history: told in the story, and after it everything has to hold that always holds. */
export abstract class Step implements AsyncCommand<Model, World> {
  /** Whether the step makes sense now; what does not is left out. */
  check(_model: Readonly<Model>): boolean {
    return true;
  }

  /** Does it to the system, compares what came of it, and does it to the model. Returns how it went, for the story. */
  protected abstract act(model: Model, world: World): Promise<string>;

  /** Who does what, in one line. */
  abstract toString(): string;

  async run(model: Model, world: World): Promise<void> {
    world.story.step(`${this}`);
    world.story.outcome(await this.act(model, world));
    await world.holds(model);
  }
}
