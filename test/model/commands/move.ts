import fc from 'fast-check';
import { expect } from 'vitest';
import { FORMATS } from '../../../src/audit/formats/formats.ts';
import { importLog } from '../../../src/audit/import.ts';
import type { PlantEvent } from '../../../src/domain/events.ts';
import type { Store } from '../../../src/log/store.ts';
import { verdictOf } from '../../store/audit-tampering.ts';
import { added, chain, deleted } from '../../support/events.ts';
import { gated } from '../gate.ts';
import type { Model } from '../model.ts';
import { Task } from '../task.ts';
import type { World } from '../world.ts';
import { Step } from './step.ts';

/** The bytes of an export. */
async function exportOf(store: Store): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const events of store.read(0)) parts.push(Buffer.from(FORMATS.ndjson.encode(events)));
  return Buffer.concat(parts);
}

/** `audit import` of an export. */
async function imported(store: Store, bytes: Buffer): Promise<void> {
  const chunks = (async function* () {
    yield bytes;
  })();
  for await (const _ of importLog(store, FORMATS.ndjson.decode(chunks)));
}

/** The log is exported and imported into a fresh store, on which all goes on. The first import is killed somewhere. */
export class Move extends Step {
  readonly #calls: number;
  readonly #done: boolean;

  constructor(calls: number, done: boolean) {
    super();
    this.#calls = calls;
    this.#done = done;
  }

  override check(model: Readonly<Model>): boolean {
    return model.tasks.length === 0;
  }

  protected async act(model: Model, world: World): Promise<string> {
    const bytes = await exportOf(world.auditor);
    const fresh = await world.platform.another();
    const killed = await fresh.openOperator();
    const task = await Task.begin((gate) => imported(gated(killed, gate), bytes));
    await task.step(this.#calls);
    const at = task.gate.waiting;
    await task.kill(this.#done);
    await killed.close();
    const operator = await fresh.openOperator();
    await imported(operator, bytes);
    expect((await exportOf(operator)).equals(bytes), 'an export of what was imported is the same').toBe(true);
    await operator.close();
    await world.stop();
    await world.platform.remove();
    world.platform = fresh;
    model.damaged.clear();
    await world.start();
    return at === undefined ? 'done' : `killed at ${at}, and done again`;
  }

  toString(): string {
    return 'move to a fresh store by export and import';
  }
}

/** A log that no instance can have written, since it decides before it writes: each continues the chain without a fault. */
const FORGERIES: Readonly<Record<string, (owner: string) => PlantEvent[]>> = {
  'a plant added twice': (owner) => [added(owner, 77n), added(owner, 77n)],
  'a plant deleted that is not there': (owner) => [deleted(owner, 77n)],
  'an owner without a name': () => [added('', 77n)],
  'a name of 20,000 characters': (owner) => [added(owner, 77n, 'x'.repeat(20_000))],
  'half a surrogate pair': (owner) => [added(owner, 77n, 'Fern \ud800')],
};

/** What nobody can have decided is followed by more: an import that finds it at once is not the only one that has to find it. */
const AFTERWARDS = (owner: string) => Array.from({ length: 3 }, (_, id) => added(owner, 100n + BigInt(id)));

/** A forged continuation of the log is to be imported, and is refused; the true one is imported instead. */
export class Forge extends Step {
  readonly #kind: string;

  constructor(kind: string) {
    super();
    this.#kind = kind;
  }

  protected async act(_model: Model, world: World): Promise<string> {
    const bytes = await exportOf(world.auditor);
    const head = await world.auditor.head();
    const forged = chain(head, [...FORGERIES[this.#kind]!('mallory'), ...AFTERWARDS('mallory')]);
    const wrong = head.position + (this.#kind === 'a plant added twice' ? 2 : 1);
    const fresh = await world.platform.another();
    const operator = await fresh.openOperator();
    try {
      const whole = Buffer.concat([bytes, Buffer.from(FORMATS.ndjson.encode(forged))]);
      const outcome = await imported(operator, whole).catch((error: unknown) => error);
      expect(outcome, `an import with ${this.#kind}`).toBeInstanceOf(Error);
      await imported(operator, bytes);
      expect((await verdictOf(operator)).places, 'what was imported after a refusal').toEqual({});
      // A database makes something else of text that is none; whatever else it is given, it holds.
      if (!forged.every(({ event }) => event.type === 'PlantDeleted' || event.name.isWellFormed())) return 'refused';
      await operator.append(forged);
      const { places } = await verdictOf(operator);
      expect(places, `where audit verify finds ${this.#kind}`).toEqual({ decisions: wrong });
      return 'refused, and found';
    } finally {
      await operator.close();
      await fresh.remove();
    }
  }

  toString(): string {
    return `import the log with ${this.#kind}`;
  }
}

/** What operators do when they move. */
export const moves = fc.tuple(fc.nat(12), fc.boolean()).map((args) => new Move(...args));
/** What forgers do. */
export const forgeries = fc.constantFrom(...Object.keys(FORGERIES)).map((kind) => new Forge(kind));
