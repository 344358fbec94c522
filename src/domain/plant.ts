/**
 * A plant as its owner sees it. Every field has its place in the functions below, and its type has no `?`: so the type
 * checker finds the code that makes a plant without it.
 */
export interface Plant {
  readonly name: string;
  /** Absent and empty are different. */
  readonly tag: string | undefined;
}

/** The fields of a plant alone, of a value that has more. */
export const plantFields = ({ name, tag }: Plant): Plant => ({ name, tag });

/** A plant with its id. */
export const withId = (id: bigint, { name, tag }: Plant): NewPlant => ({ id, name, tag });

/** The fields that are set, for messages: an unset field is no member of them. */
export const setFields = ({ name, tag }: Plant) => (tag === undefined ? { name } : { name, tag });

/** Whether two plants have the same fields. */
export const isSamePlant = (a: Plant, b: Plant): boolean => a.name === b.name && a.tag === b.tag;

/** UTF-16 code units of a plant's texts. */
export const textLength = ({ name, tag }: Plant): number => name.length + (tag?.length ?? 0);

/** Bytes of a plant's texts in UTF-8. */
export const textBytes = ({ name, tag }: Plant): number => Buffer.byteLength(name) + Buffer.byteLength(tag ?? '');

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
