import type { PlantRow } from '../../log/store.ts';

/** An event of the owner. It is the same object for everybody who watches, so that what it is encoded to can be kept. */
export type LiveStep =
  | { readonly type: 'added'; readonly plant: PlantRow; readonly position: number }
  | { readonly type: 'deleted'; readonly id: bigint; readonly position: number };

/** What a watch tells, one step at a time. */
export type Step =
  | LiveStep
  /** A plant of the state. */
  | { readonly type: 'added'; readonly plant: PlantRow; readonly position: undefined }
  /** The state is whole, and was exact at this position. */
  | { readonly type: 'ready'; readonly position: number }
  /** What came before is void: the state follows. */
  | { readonly type: 'reset' };
