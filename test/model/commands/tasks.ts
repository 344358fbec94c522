import fc from 'fast-check';
import type { Model, TaskKind } from '../model.ts';
import type { World } from '../world.ts';
import { Step } from './step.ts';

/** Which of the tasks that go on: any number, whatever their count. */
abstract class TaskStep extends Step {
  readonly #number: number;

  constructor(number: number) {
    super();
    this.#number = number;
  }

  override check({ tasks }: Readonly<Model>): boolean {
    return tasks.length > 0;
  }

  protected async act(model: Model, world: World): Promise<string> {
    const index = this.#number % model.tasks.length;
    const kind = model.tasks[index]!;
    const { task, judge } = world.running[index]!;
    const at = task.gate.waiting;
    const what = `the ${kind}, which waits for ${at},`;
    const isJudged = await this.move(model, world, index);
    if (task.outcome === undefined) return `${what} waits for ${task.gate.waiting} now`;
    model.tasks.splice(index, 1);
    world.running.splice(index, 1);
    if (isJudged) await judge(model);
    return `${what} ${'error' in task.outcome ? `ended: ${(task.outcome.error as Error).message}` : 'came to its end'}`;
  }

  /** Moves the task. Returns whether its end is to be judged: of what was killed, nobody hears. */
  protected abstract move(model: Model, world: World, index: number): Promise<boolean>;
}

/** A task goes on for some calls: pages of a list, batches of the log, steps of a repair. */
export class GoOn extends TaskStep {
  readonly #calls: number;

  constructor(number: number, calls: number) {
    super(number);
    this.#calls = calls;
  }

  protected async move(_model: Model, world: World, index: number): Promise<boolean> {
    await world.running[index]!.task.step(this.#calls);
    return true;
  }

  toString(): string {
    return `go on with a task for ${this.#calls} calls`;
  }
}

/** A task goes on to its end. */
export class Finish extends TaskStep {
  protected async move(_model: Model, world: World, index: number): Promise<boolean> {
    await world.running[index]!.task.finish();
    return true;
  }

  toString(): string {
    return 'let a task finish';
  }
}

/** The process of a task is killed, before a call or when that is done; whoever reads a list goes away. */
export class Kill extends TaskStep {
  readonly #done: boolean;

  constructor(number: number, done: boolean) {
    super(number);
    this.#done = done;
  }

  protected async move(_model: Model, world: World, index: number): Promise<boolean> {
    const { task } = world.running[index]!;
    await task.kill(this.#done);
    return false;
  }

  toString(): string {
    return `kill a task ${this.#done ? 'when its call is done' : 'before its call is made'}`;
  }
}

/** How many tasks of a kind go on. */
export const count = ({ tasks }: Readonly<Model>, kind: TaskKind): number =>
  tasks.filter((each) => each === kind).length;

const numbers = fc.nat(5);

/** What goes on beside all else. */
export const goesOn = fc.tuple(numbers, fc.integer({ min: 1, max: 12 })).map((args) => new GoOn(...args));
/** What goes on beside all else. */
export const finishes = numbers.map((number) => new Finish(number));
/** What goes on beside all else. */
export const kills = fc.tuple(numbers, fc.boolean()).map((args) => new Kill(...args));
