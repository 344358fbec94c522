import type { PlantRow } from '../../log/store.ts';

/** An event of the owner. All watchers get the same object, so that its encoded form can be kept. */
export type LiveStep =
  | { readonly type: 'added'; readonly plant: PlantRow; readonly position: number }
  | { readonly type: 'deleted'; readonly id: bigint; readonly position: number };

/** One step of a watch. */
export type Step =
  | LiveStep
  /** A plant of the state. */
  | { readonly type: 'added'; readonly plant: PlantRow; readonly position: undefined }
  /** The state is complete, and is exact at this position. */
  | { readonly type: 'ready'; readonly position: number }
  /** Earlier steps are void. The state follows. */
  | { readonly type: 'reset' };
