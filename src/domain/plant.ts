/** A plant as its owner sees it. */
export interface Plant {
  readonly name: string;
  /** Absent and empty are different. */
  readonly tag: string | undefined;
}

/** Identifies a plant. Ids are unique for each owner only. */
export interface PlantKey {
  readonly owner: string;
  /** An int64. */
  readonly id: bigint;
}

/** A plant to add. */
export interface NewPlant extends Plant {
  /** An int64, chosen by the caller. */
  readonly id: bigint;
}

/** Most code points that a name or a tag may have. */
export const MAX_TEXT_CODE_POINTS = 1024;

/** Smallest id. */
export const MIN_INT64 = -(2n ** 63n);

/** Largest id. */
export const MAX_INT64 = 2n ** 63n - 1n;

/** A string that is unique for each key, whatever characters the owner has: an id has no colon. */
export const keyString = (owner: string, id: bigint): string => `${id}:${owner}`;
