import fc from 'fast-check';
import { expect } from 'vitest';
import { repairReadModel } from '../../../src/audit/repair.ts';
import { verdictText } from '../../../src/audit/verdict-text.ts';
import type { Store } from '../../../src/log/store.ts';
import { verdictOf } from '../../store/audit-tampering.ts';
import { override } from '../../support/faulty-store.ts';
import { gated } from '../gate.ts';
import type { Model } from '../model.ts';
import { Task } from '../task.ts';
import type { World } from '../world.ts';
import { Step } from './step.ts';
import { count } from './tasks.ts';

type Verified = Awaited<ReturnType<typeof verdictOf>>;

/** Begins a repair, which waits before each of its calls. */
export async function beginRepair(model: Model, world: World): Promise<Task> {
  // Another one may be there still, frozen for longer than its lease; or dead.
  await world.platform.expireLeases();
  const operator = await world.platform.openOperator();
  return Task.begin(async (gate) => {
    try {
      for await (const _ of repairReadModel(gated(telling(operator, model, world), gate)));
    } finally {
      await operator.close();
    }
  });
}

/** `audit rebuild` from its start to its end. */
export async function repair(model: Model, world: World): Promise<void> {
  const task = await beginRepair(model, world);
  await task.finish();
  if ('error' in task.outcome!) throw task.outcome.error;
  await world.look(model);
  expect(model.damaged.size, 'what is damaged').toBe(0);
}

/** A store that tells when a repair has done its last step, whether or not the repair lives to hear of it. */
function telling(store: Store, model: Model, world: World): Store {
  let damages = 0;
  return override(store, {
    snapshot: () => {
      ({ damages } = model);
      return store.snapshot();
    },
    advance: async (from, to, changes, nodes) => {
      const done = await store.advance(from, to, changes, nodes);
      const isLast = from === to && changes.deletes.length + changes.inserts.length + nodes.hashes.length === 0;
      if (done && isLast) world.repaired(damages);
      return done;
    },
  });
}

/** `audit rebuild` is started, and waits. */
export class BeginRepair extends Step {
  override check(model: Readonly<Model>): boolean {
    return count(model, 'repair') < 2;
  }

  protected async act(model: Model, world: World): Promise<string> {
    const task = await beginRepair(model, world);
    const judge = () => {
      if ('error' in task.outcome!) throw task.outcome.error;
    };
    model.tasks.push('repair');
    world.running.push({ task, judge });
    return 'waits';
  }

  toString(): string {
    return 'begin a repair';
  }
}

/** `audit rebuild` from its start to its end. */
export class RepairAtOnce extends Step {
  protected async act(model: Model, world: World): Promise<string> {
    await repair(model, world);
    return 'the read model is right';
  }

  toString(): string {
    return 'repair';
  }
}

/** Calls of a repair, in the order in which it first makes them. */
export const REPAIR_CALLS = [
  ...['head', 'unfinished', 'checkpoint', 'read a batch', 'lease', 'nodes'],
  ...['snapshot', 'all a batch', 'advance', 'close'],
];

/** `audit rebuild` is killed at the first of its calls of a kind, before it is made or when it is done. */
export class KillRepair extends Step {
  readonly #call: string;
  readonly #done: boolean;

  constructor(call: string, done: boolean) {
    super();
    this.#call = call;
    this.#done = done;
  }

  protected async act(model: Model, world: World): Promise<string> {
    const task = await beginRepair(model, world);
    while (task.outcome === undefined && task.gate.waiting !== this.#call) await task.step(1);
    expect(task.outcome, `a repair without ${this.#call}`).toBeUndefined();
    await task.kill(this.#done);
    return 'dead';
  }

  toString(): string {
    return `kill a repair ${this.#done ? 'after' : 'before'} its first ${this.#call}`;
  }
}

/** `audit verify` is started, and waits before each of its calls. It has to say what was so at some moment of it. */
export class BeginVerify extends Step {
  override check(model: Readonly<Model>): boolean {
    return count(model, 'verify') < 2;
  }

  protected async act(model: Model, world: World): Promise<string> {
    const wrong = new Set([await world.firstWrongRow(model)]);
    const task = await Task.begin((gate): Promise<Verified> => verdictOf(gated(world.auditor, gate)));
    const judge = () => {
      const outcome = task.outcome!;
      if ('value' in outcome) {
        const { places, verdict } = outcome.value;
        const found = places.read_model as string | undefined;
        expect([...wrong], `what is so while audit verify says ${verdictText(verdict)}`).toContain(found);
        expect(places).toEqual(found === undefined ? {} : { read_model: found });
        return;
      }
      throw outcome.error;
    };
    model.tasks.push('verify');
    world.running.push({ task, judge, watch: (place) => wrong.add(place) });
    return 'waits';
  }

  toString(): string {
    return 'begin to verify';
  }
}

/** What operators do when they are in doubt. */
export const repairs = fc.constant(null).map(() => new BeginRepair());
/** What operators do when they are in doubt. */
export const repairsAtOnce = fc.constant(null).map(() => new RepairAtOnce());
/** What becomes of repairs. */
export const killedRepairs = fc
  // More often where it changes something.
  .tuple(fc.constantFrom(...REPAIR_CALLS, 'advance', 'advance', 'advance'), fc.boolean())
  .map((args) => new KillRepair(...args));
/** What auditors do. */
export const verifications = fc.constant(null).map(() => new BeginVerify());
