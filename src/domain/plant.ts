/** A plant as its owner sees it. */
export interface Plant {
  readonly name: string;
  /** Absent and empty are different. */
  readonly tag: string | undefined;
}

/** Whose plant, and which: ids are unique for each owner, not over all of them. */
export interface PlantKey {
  readonly owner: string;
  /** An int64. */
  readonly id: bigint;
}

/** A plant that somebody wants to add. */
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

/** One string for each key, different for different keys whatever the owner's name holds: an id has no colon. */
export const keyString = (owner: string, id: bigint): string => `${id}:${owner}`;
