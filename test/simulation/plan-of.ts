import { accident, damaged, OF_OWNERS, OTHERS, silence } from './draws.ts';
import { Random } from './machine/random.ts';
import type { Weather } from './machine/server.ts';
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

/** An action, and at times what makes more of it. */
function chain(random: Random, action: Action): Action[] {
  if (action.do === 'rebuild' && random.chance(0.4)) return accident(random, action);
  if (action.do === 'erase' && random.chance(0.2)) return accident(random, action);
  if (action.do === 'line' && action.is === 'silent' && random.chance(0.7)) return silence(random, action);
  return [action];
}

/** The history of a seed. */
export function planOf(seed: number): Plan {
  const random = new Random(`${seed}/plan`);
  const chosen = Object.values(OTHERS).filter(({ share }) => random.chance(share));
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
  // Of a draw of its own, so that the other histories stay what they are.
  const damages = new Random(`${seed}/damage`);
  for (let left = damages.chance(0.2) ? damages.whole(1, 2) : 0; left > 0; left--)
    steps.splice(
      damages.whole(0, steps.length),
      0,
      ...damaged(damages).map((action) => ({ ...action, gap: damages.scaled(0.1, 50) })),
    );
  return {
    instances: random.one([1, 2, 2, 3, 3, 3]),
    publishes: random.chance(0.2),
    longNames: random.chance(0.1),
    weather: weatherOf(random),
    steps,
  };
}
