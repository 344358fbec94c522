import { act } from './actions/act.ts';
import { comeToRest } from './actions/rest.ts';
import { Violation } from './judges/violation.ts';
import { type Plan, stepText } from './plan.ts';
import { planOf } from './plan-of.ts';
import { World } from './world.ts';

let running: World | undefined;

// It is a defect of the code under test, wherever it comes from.
process.on('unhandledRejection', (error) => {
  if (running === undefined) throw error;
  running.judge(() => {
    throw new Violation('unhandled', `an error that nobody handles: ${error}`);
  });
});

/** How a history went. */
export interface Outcome {
  readonly seed: number;
  readonly plan: Plan;
  /** The numbers of the steps that were done. */
  readonly steps: readonly number[];
  readonly violation: Violation | undefined;
  readonly story: readonly string[];
  readonly world: World;
}

/** Does the history of a seed: all of its steps, or some. The same seed and steps always give the same history. */
export async function runHistory(
  seed: number,
  plan: Plan = planOf(seed),
  steps: readonly number[] = plan.steps.keys().toArray(),
): Promise<Outcome> {
  const world = new World(seed, plan);
  running = world;
  await world.begin();
  for (const number of steps) {
    const step = plan.steps[number]!;
    await world.pass(step.gap);
    if (world.violation !== undefined) break;
    world.tell(`step ${number}`, stepText(step));
    act(world, step);
    if (step.do === 'wait') await world.pass(step.for);
  }
  await comeToRest(world);
  running = undefined;
  return { seed, plan, steps, violation: world.violation, story: world.story, world };
}
