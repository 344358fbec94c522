import type { PlantKey } from '../../domain/plant.ts';

/** A column of a row as it goes between threads: text, a number, or null for what is absent. */
export type Cell = string | bigint | number | null;

/** Cells of one plant, one row after the other: owner, id, name, tag. */
export const ROW_CELLS = 4;

/**
 * Cells of one event: those of its plant, of which a null name means that it is deleted; its idempotency key, null where it has
 * none or nobody asks; its time.
 */
export const EVENT_CELLS = 6;

/** What the fold's thread is asked: to take what happened to plants, or for its first rows after a key (undefined: of all). */
export type FoldRequest =
  | { readonly do: 'apply'; readonly cells: readonly Cell[] }
  | { readonly do: 'list'; readonly after: PlantKey | undefined };

/** Why an event does not fit what went before it. */
export type Misfit = 'there' | 'missing' | 'key';

/** What it answers, one for each request, in their order: to `list` the cells of rows, to `apply` the first event that does not fit. */
export type FoldReply =
  | { readonly cells: readonly Cell[]; readonly misfit?: { readonly index: number; readonly why: Misfit } | undefined }
  | { readonly error: Error };

/** Rows in one answer; fewer mean that they are the last. */
export const LIST_ROWS = 2_000;
