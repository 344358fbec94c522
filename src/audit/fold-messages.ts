import type { PlantKey } from '../domain/plant.ts';

/** A column of a row as it goes between threads: text, an id, or null for what is absent. */
export type Cell = string | bigint | null;

/** Cells of one plant, one row after the other: owner, id, name, tag. A null name: the plant is deleted. */
export const CELLS = 4;

/** What the fold's thread is asked: to take what happened to plants, or for its first rows after a key (undefined: of all). */
export type FoldRequest =
  | { readonly do: 'apply'; readonly cells: readonly Cell[] }
  | { readonly do: 'list'; readonly after: PlantKey | undefined };

/** What it answers, one for each request, in their order: the cells of rows, none to `apply`. */
export type FoldReply = { readonly cells: readonly Cell[] } | { readonly error: Error };

/** Rows in one answer; fewer mean that they are the last. */
export const LIST_ROWS = 2_000;
