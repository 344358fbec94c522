import fc from 'fast-check';
import { expect } from 'vitest';
import { rebuildReadModel } from '../../../src/audit/rebuild/rebuild.ts';
import { verdictText } from '../../../src/audit/verdict-text.ts';
import type { Rebuild, Store } from '../../../src/log/store.ts';
import { verdictOf } from '../../store/audit-tampering.ts';
import { override } from '../../support/faulty-store.ts';
import { gated } from '../gate.ts';
import type { Model } from '../model.ts';
import { Task } from '../task.ts';
import type { World } from '../world.ts';
import { Step } from './step.ts';
import { count } from './tasks.ts';

type Verified = Awaited<ReturnType<typeof verdictOf>>;

/** Begins a rebuild, which waits before each of its calls. */
export async function beginRebuild(world: World): Promise<Task> {
  // Another one may be there still, frozen for longer than its lease; or dead.
  await world.platform.expireLeases();
  world.rebuilds++;
  const operator = await world.platform.openOperator();
  return Task.begin(async (gate) => {
    try {
      for await (const _ of rebuildReadModel(
        gated(
          telling(operator, () => world.swapped()),
          gate,
        ),
      ));
    } finally {
      await operator.close();
    }
  });
}

/** `audit rebuild` from its start to its end. */
export async function rebuild(model: Model, world: World): Promise<void> {
  const task = await beginRebuild(world);
  await task.finish();
  if ('error' in task.outcome!) throw task.outcome.error;
  await world.look(model);
  expect(model.damaged.size, 'what is damaged').toBe(0);
}

/** A store that tells when a rebuild has taken the read model's place, whether or not the rebuild lives to hear of it. */
const telling = (store: Store, swapped: () => void): Store =>
  override(store, {
    async rebuild(): Promise<Rebuild> {
      const rebuild = await store.rebuild();
      return {
        apply: (changes) => rebuild.apply(changes),
        all: () => rebuild.all(),
        close: () => rebuild.close(),
        async swap(position) {
          const done = await rebuild.swap(position);
          if (done) swapped();
          return done;
        },
      };
    },
  });

/** `audit rebuild` is started, and waits. */
export class BeginRebuild extends Step {
  override check(model: Readonly<Model>): boolean {
    return count(model, 'rebuild') < 2;
  }

  protected async act(model: Model, world: World): Promise<string> {
    const isAlone = count(model, 'rebuild') === 0;
    const task = await beginRebuild(world);
    const { rebuilds } = world;
    const judge = () => {
      // Where there are two, one may be refused, or end with an error when the other has begun to replace what it built.
      if ('error' in task.outcome! && isAlone && world.rebuilds === rebuilds) throw task.outcome.error;
    };
    model.tasks.push('rebuild');
    world.running.push({ task, judge });
    return 'waits';
  }

  toString(): string {
    return 'begin a rebuild';
  }
}

/** `audit rebuild` from its start to its end. */
export class RebuildAtOnce extends Step {
  protected async act(model: Model, world: World): Promise<string> {
    await rebuild(model, world);
    return 'the read model is new';
  }

  toString(): string {
    return 'rebuild';
  }
}

/** Calls of a rebuild, in the order in which it first makes them. */
export const REBUILD_CALLS = ['lease', 'rebuild', 'head', 'read a batch', 'apply', 'all a batch', 'swap', 'close'];

/** `audit rebuild` is killed at the first of its calls of a kind, before it is made or when it is done. */
export class KillRebuild extends Step {
  readonly #call: string;
  readonly #done: boolean;

  constructor(call: string, done: boolean) {
    super();
    this.#call = call;
    this.#done = done;
  }

  protected async act(_model: Model, world: World): Promise<string> {
    const task = await beginRebuild(world);
    while (task.outcome === undefined && task.gate.waiting !== this.#call) await task.step(1);
    expect(task.outcome, `a rebuild without ${this.#call}`).toBeUndefined();
    await task.kill(this.#done);
    return 'dead';
  }

  toString(): string {
    return `kill a rebuild ${this.#done ? 'after' : 'before'} its first ${this.#call}`;
  }
}

/** `audit verify` is started, and waits before each of its calls. It has to say what was so at some moment of it. */
export class BeginVerify extends Step {
  override check(model: Readonly<Model>): boolean {
    return count(model, 'verify') < 2;
  }

  protected async act(model: Model, world: World): Promise<string> {
    const { swaps } = world;
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
      // It may say that it cannot tell when the rows that it read are gone: that is no answer.
      if (!(world.platform.rebuildEndsLists && world.swaps > swaps)) throw outcome.error;
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
export const rebuilds = fc.constant(null).map(() => new BeginRebuild());
/** What operators do when they are in doubt. */
export const rebuildsAtOnce = fc.constant(null).map(() => new RebuildAtOnce());
/** What becomes of rebuilds. */
export const killedRebuilds = fc
  // More often where the old rows and the new ones are both there.
  .tuple(fc.constantFrom(...REBUILD_CALLS, 'swap', 'swap', 'close'), fc.boolean())
  .map((args) => new KillRebuild(...args));
/** What auditors do. */
export const verifications = fc.constant(null).map(() => new BeginVerify());
