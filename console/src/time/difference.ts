/** A plant as it was, and whose. */
export interface OwnedPlant {
  readonly owner: string;
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | undefined;
}

/** What is in one list of plants and not in the other. A plant that was replaced is in both. */
export interface Difference {
  readonly removed: readonly OwnedPlant[];
  readonly added: readonly OwnedPlant[];
}

/** What changed from one list to another. */
export function differenceOf(before: readonly OwnedPlant[], after: readonly OwnedPlant[]): Difference {
  const keyOf = ({ owner, id, name, tag }: OwnedPlant): string =>
    JSON.stringify([owner, String(id), name, tag ?? null]);
  const then = new Set(before.map(keyOf));
  const now = new Set(after.map(keyOf));
  return {
    removed: before.filter((plant) => !now.has(keyOf(plant))),
    added: after.filter((plant) => !then.has(keyOf(plant))),
  };
}
