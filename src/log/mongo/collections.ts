import { type Binary, type Collection, type Db, Long, type ObjectId } from 'mongodb';
import type { Contact } from '../store.ts';
import type { EventDocument, PlantDocument } from './documents.ts';

/** `_id` in `plants` of the checkpoint. Rows have documents there, which sort behind all texts. */
export const CHECKPOINT_ID = 'checkpoint';

/**
 * The checkpoint of the read model, which changes in one transaction with the rows and the nodes of the tree. It is a
 * document of `plants`: where that is dropped, renamed or emptied, the checkpoint is gone with the rows, and nothing is
 * decided on rows that come anew.
 */
export interface CheckpointDocument {
  readonly _id: typeof CHECKPOINT_ID;
  readonly position: Long;
  readonly generation: Long;
  /** See Standing. Missing: not beyond the position. */
  readonly upTo?: Long;
  /** Another with each step of a repair while the rest is lost. */
  readonly repair?: ObjectId;
}

/** Whether what was found is a checkpoint. One whose members are not integers counts as lost: a repair replaces it. */
export function isCheckpoint(found: CheckpointDocument | null | undefined): found is CheckpointDocument {
  if (!found) return false;
  const { position, generation, upTo = Long.ZERO } = found;
  return [position, generation, upTo].every((member: unknown) => Long.isLong(member) || Number.isInteger(member));
}

/** A lease: its holder and its end, by the server's clock. */
export interface LeaseDocument {
  readonly _id: string;
  readonly holder: string;
  readonly until: Date;
  /** Server session of the holder's transactions under the lease. A new holder ends that session's transaction. */
  readonly session?: Binary;
  /** How other instances reach a holder that takes commands. */
  readonly contact?: Contact;
}

/** A document about the database itself. */
export interface MetaDocument {
  /** `owners`: the key that names owners in the instances' logs. `primary`: written to confirm who is the primary. */
  readonly _id: 'schema' | 'primary' | 'log' | 'owners';
  readonly version?: number;
  /**
   * An upgrade to this version has begun to write, and is not over. Every release before this one refuses the version.
   */
  readonly isUpgrading?: true;
  readonly confirmations?: Long;
  readonly logId?: string;
  readonly key?: Binary;
}

/** A node of level 1 of the tree, by its index. */
export interface TreeNodeDocument {
  readonly _id: Long;
  readonly hash: Binary;
}

/** The collections of a store. */
export interface Collections {
  readonly events: Collection<EventDocument>;
  readonly plants: Collection<PlantDocument>;
  readonly leases: Collection<LeaseDocument>;
  readonly meta: Collection<MetaDocument>;
  readonly tree: Collection<TreeNodeDocument>;
}

/** The collections of a store in a database. */
export const collectionsOf = (db: Db): Collections => ({
  events: db.collection('events'),
  plants: db.collection('plants'),
  leases: db.collection('leases'),
  meta: db.collection('meta'),
  tree: db.collection('tree'),
});

/** The collection of the rows, for the checkpoint among them. */
export const checkpointIn = ({ plants }: Pick<Collections, 'plants'>): Collection<CheckpointDocument> =>
  plants as unknown as Collection<CheckpointDocument>;
