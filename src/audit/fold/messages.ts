import type { PlantKey } from '../../domain/plant.ts';

/** A column of a row in a message between threads: text, a number, or null if absent. */
export type Cell = string | bigint | number | null;

/** Cells of one plant: owner, id, name, tag. */
export const ROW_CELLS = 4;

/**
 * Cells of one event: those of its plant, with a null name if it is deleted; its idempotency key, null if it has none
 * or the fold tracks none; its time. All but the owner are null for an event that erases the owner.
 */
export const EVENT_CELLS = 6;

/** A request to the fold's thread: apply events, or list the first rows after a key (undefined: from the start). */
export type FoldRequest =
  | { readonly do: 'apply'; readonly cells: readonly Cell[] }
  | { readonly do: 'list'; readonly after: PlantKey | undefined };

/** Why an event was not allowed on the state before it. */
export type Misfit = 'there' | 'missing' | 'key';

/**
 * The reply to each request, in order: for `list` the cells of rows, for `apply` the first event that was not allowed.
 */
export type FoldReply =
  | { readonly cells: readonly Cell[]; readonly misfit?: { readonly index: number; readonly why: Misfit } | undefined }
  | { readonly error: Error };

/** Rows in one reply; fewer mean that they are the last. */
export const LIST_ROWS = 2_000;
