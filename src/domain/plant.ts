/** The texts of a plant as its owner sees it. */
export interface Plant {
  readonly name: string;
  /** Absent and empty are different. */
  readonly tag?: string | undefined;
}

/** A text of a plant, described once for events, rows, checks and documentation. */
export interface PlantField {
  readonly name: keyof Plant;
  /** Its number in the message PlantAdded, below 16. */
  readonly number: number;
  /** A plant may lack a text that is not required. */
  readonly isRequired: boolean;
  /** A text for documentation. */
  readonly example: string;
}

/**
 * The texts of a plant, in the order of columns and of the JSON export. The type above and the functions below name
 * each of them again, because lists call these functions for each plant. A test compares them with this table.
 */
export const PLANT_FIELDS: readonly PlantField[] = [
  { name: 'name', number: 2, isRequired: true, example: 'Fern' },
  { name: 'tag', number: 3, isRequired: false, example: 'indoor' },
];

/** The fields of a plant alone, of a value that has more. */
export const plantFields = ({ name, tag }: Plant): Plant => ({ name, tag });

/** A plant with its id. */
export const withId = (id: bigint, { name, tag }: Plant): NewPlant => ({ id, name, tag });

/** A plant with its owner and id. */
export const withKey = ({ owner, id }: PlantKey, { name, tag }: Plant): PlantKey & Plant => ({ owner, id, name, tag });

/** The fields that are set, for messages: an unset field is no member of them. */
export const setFields = ({ name, tag }: Plant) => (tag === undefined ? { name } : { name, tag });

/** Whether two plants have the same fields. */
export const isSamePlant = (a: Plant, b: Plant): boolean => a.name === b.name && a.tag === b.tag;

/** UTF-16 code units of a plant's texts. */
export const textLength = ({ name, tag }: Plant): number => name.length + (tag?.length ?? 0);

/** Bytes of a plant's texts in UTF-8. */
export const textBytes = ({ name, tag }: Plant): number => Buffer.byteLength(name) + Buffer.byteLength(tag ?? '');

/** The texts of a plant in the order of PLANT_FIELDS. Null: unset. */
export const textsOf = ({ name, tag }: Plant): (string | null)[] => [name, tag ?? null];

/** The plant whose `textsOf` begin at an index. */
export const plantOfTexts = (cells: readonly unknown[], at: number): Plant => ({
  name: cells[at] as string,
  tag: (cells[at + 1] as string | null) ?? undefined,
});

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

/** Most code points that a text may have. */
export const MAX_TEXT_CODE_POINTS = 1024;

/** Smallest id. */
export const MIN_INT64 = -(2n ** 63n);

/** Largest id. */
export const MAX_INT64 = 2n ** 63n - 1n;

/** A string that is unique for each key, whatever characters the owner has: an id has no colon. */
export const keyString = (owner: string, id: bigint): string => `${id}:${owner}`;
