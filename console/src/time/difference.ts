import { TEXTS, type Texts } from '../plants/texts.ts';

/** A plant as it was, with its owner. */
export interface OwnedPlant extends Texts {
  readonly owner: string;
  readonly id: bigint;
}

/** What changed from one list to another: the plants that are in one only. A replaced plant appears on both sides. */
export function differenceOf(before: readonly OwnedPlant[], after: readonly OwnedPlant[]) {
  const keyOf = (plant: OwnedPlant): string =>
    JSON.stringify([plant.owner, String(plant.id), ...TEXTS.map(({ name }) => plant[name] ?? null)]);
  const then = new Set(before.map(keyOf));
  const now = new Set(after.map(keyOf));
  return {
    removed: before.filter((plant) => !now.has(keyOf(plant))),
    added: after.filter((plant) => !then.has(keyOf(plant))),
  };
}
