import { accident, damaged, OF_OWNERS, OTHERS, readSlowly, restored, silence } from './draws.ts';
import { Random } from './machine/random.ts';
import type { Weather } from './machine/server.ts';
import { MOST_WITNESSES } from './machine/witnesses.ts';
import type { Action, Plan, Step } from './plan.ts';

/** Most often nothing goes wrong by itself, so that what does is seen alone. */
function weatherOf(random: Random): Weather {
  const fault = () => (random.chance(0.3) ? random.scaled(0.001, 0.05) : 0);
  return {
    refused: fault(),
    lost: fault(),
    late: fault(),
    slow: fault(),
    old: random.chance(0.3) ? random.scaled(0.01, 0.3) : 0,
    way: random.scaled(0.1, 20),
    replication: random.scaled(0.05, 20),
  };
}

function witnessesOf(random: Random): Plan['witnesses'] {
  if (!random.chance(0.25)) return undefined;
  const count = random.whole(1, MOST_WITNESSES);
  return { count, quorum: random.whole(1, count) };
}

/** What is not judged beside a read model that is wrong for a time. */
const NOT_BESIDE: readonly Action['do'][] = ['checkpoint', 'receipt', 'move', 'verify', 'restore'];

/** The same history, in which rows are wrong for a time. */
function withDamage(plan: Plan): Plan {
  const steps = plan.steps.filter((step) => !NOT_BESIDE.includes(step.do));
  return { ...plan, steps, witnesses: undefined };
}

/** An action, and at times what makes more of it. */
function chain(random: Random, action: Action): Action[] {
  if (action.do === 'rebuild' && random.chance(0.4)) return accident(random, action);
  if (action.do === 'erase' && random.chance(0.2)) return accident(random, action);
  if (action.do === 'line' && action.is === 'silent' && random.chance(0.7)) return silence(random, action);
  if (action.do === 'as of' && random.chance(0.5)) return readSlowly(random, action);
  if (action.do === 'restore') return restored(random, action);
  if (action.do === 'damage') return damaged(random, action);
  return [action];
}

/** The history of a seed, in which each of the named actions or faults occurs. */
export function planOf(seed: number, named: readonly string[] = []): Plan {
  const random = new Random(`${seed}/plan`);
  const chosen = Object.entries(OTHERS).flatMap(([name, other]) =>
    random.of(name).chance(other.share) ? [other] : [],
  );
  const weight = chosen.reduce((sum, other) => sum + other.weight, 0);
  const haste = random.scaled(1, 100);
  const draw = (): Action => {
    // Owners do half of all or more.
    let left = random.between(0, Math.max(weight + 4, 2 * weight));
    for (const other of chosen) {
      if (left < other.weight) return other.draw(random);
      left -= other.weight;
    }
    return random.one(OF_OWNERS)(random);
  };
  const gap = () => (random.chance(0.05) ? random.scaled(100, 8_000) : random.scaled(haste / 50, haste * 5));
  const steps: Step[] = [];
  for (let left = random.whole(15, 70); left > 0; left--) {
    const action = draw();
    for (const next of chain(random, action)) steps.push({ ...next, gap: gap() });
  }
  const asked = random.of('named');
  for (const name of named) {
    const action = OTHERS[name]!.draw(asked);
    const next = chain(asked, action).map((each) => ({ ...each, gap: asked.scaled(haste / 50, haste * 5) }));
    steps.splice(asked.whole(0, steps.length), 0, ...next);
  }
  const plan: Plan = {
    instances: random.one([1, 2, 2, 3, 3, 3]),
    publishes: random.chance(0.2) || steps.some((step) => step.do === 'topic away'),
    longNames: random.chance(0.1),
    weather: weatherOf(random),
    isEmbedded: random.of('embedded').chance(0.25),
    strictReads: random.of('strict').chance(0.5),
    // At times enough for two stored nodes of the tree.
    fillers: random.of('fillers').chance(0.12) ? random.of('filled').whole(110, 300) : 0,
    witnesses: witnessesOf(random.of('witnesses')),
    sharesDisk: random.of('disk').chance(0.3),
    steps,
  };
  return steps.some((step) => step.do === 'damage') ? withDamage(plan) : plan;
}
