import type { Binary, Collection, Db, Long } from 'mongodb';
import { type Contact, lostCheckpoint } from '../store.ts';
import type { EventDocument, PlantDocument } from './documents.ts';

/**
 * The checkpoint of the read model and the collection with its rows. Both change in one step. Both are missing while a
 * rebuild makes a lost document anew.
 */
export interface CheckpointDocument {
  readonly _id: string;
  readonly position?: Long;
  /** Name of the collection with the rows: `plants`, until a rebuild replaces it. */
  readonly collection?: string;
  /** The number of rebuilds that were ever started. */
  readonly rebuilds: number;
  /** Name of the collection in which the last rebuild makes new rows, until it ends. */
  readonly building?: string;
}

/** A checkpoint with rows. */
export type LiveCheckpoint = CheckpointDocument & Required<Pick<CheckpointDocument, 'position' | 'collection'>>;

/** The checkpoint, unless it was lost: then throws BrokenReadModelError. */
export function live(checkpoint: CheckpointDocument | null | undefined): LiveCheckpoint {
  if (checkpoint?.collection === undefined) throw lostCheckpoint();
  return checkpoint as LiveCheckpoint;
}

/** `_id` in `checkpoints` of the only read model. */
export const PLANTS_CHECKPOINT = 'plants';

/** The collection of rows of the rebuild with this number. No two rebuilds share a collection. */
export const plantsCollection = (rebuilds: number): string => (rebuilds === 0 ? 'plants' : `plants_${rebuilds}`);

/**
 * The number of the rebuild that made a collection of rows; 0 for the first collection. Undefined: the name is not that
 * of such a collection.
 */
export function rebuildOf(collection: string): number | undefined {
  const [, rebuilds] = /^plants(?:_([1-9][0-9]*))?$/.exec(collection) ?? [undefined, undefined];
  return collection === 'plants' ? 0 : rebuilds === undefined ? undefined : Number(rebuilds);
}

/** A lease: its holder and its end, by the server's clock. */
export interface LeaseDocument {
  readonly _id: string;
  readonly holder: string;
  readonly until: Date;
  /**
   * Id of the server session in which the holder runs transactions under the lease. A new holder ends that session's
   * transaction.
   */
  readonly session?: Binary;
  /**
   * How other instances reach the holder, if it takes commands rather than runs transactions under the lease; see
   * Contact.
   */
  readonly contact?: Contact;
}

/** An unfinished erasure; see Erasure. */
export interface ErasureDocument {
  /** The owner. Each owner has at most one erasure at a time. */
  readonly _id: string;
  readonly eventId: string;
  readonly actor: string;
  readonly issuer?: string | undefined;
  readonly since: Date;
  readonly after: Long;
  readonly erasedBy?: Long;
  readonly isPublished: boolean;
}

/** `_id` of the document in `meta` with the schema version of the database. */
export const SCHEMA_ID = 'schema';
/** `_id` of the document in `meta` that is written to confirm that the primary is still the primary. */
export const PRIMARY_ID = 'primary';
/** `_id` of the document in `meta` with the log's id. */
export const LOG_ID = 'log';

/** `_id` of the document in `meta` with the key that names owners in the instances' own logs. */
export const OWNERS_ID = 'owners';

/** A document about the database itself. */
export interface MetaDocument {
  readonly _id: typeof SCHEMA_ID | typeof PRIMARY_ID | typeof LOG_ID | typeof OWNERS_ID;
  readonly version?: number;
  readonly confirmations?: Long;
  readonly logId?: string;
  readonly key?: Binary;
}

/** A node of the tree. The level comes first, so that the index on `_id` keeps the nodes of a level together. */
export interface TreeNodeDocument {
  readonly _id: { readonly level: number; readonly node: Long };
  readonly hash: Binary;
}

/** The collections of a store, except those with rows of the read model. */
export interface Collections {
  readonly events: Collection<EventDocument>;
  readonly checkpoints: Collection<CheckpointDocument>;
  readonly leases: Collection<LeaseDocument>;
  readonly erasures: Collection<ErasureDocument>;
  readonly meta: Collection<MetaDocument>;
  readonly tree: Collection<TreeNodeDocument>;
}

/** The collections of a store in a database. */
export const collectionsOf = (db: Db): Collections => ({
  events: db.collection('events'),
  checkpoints: db.collection('checkpoints'),
  leases: db.collection('leases'),
  erasures: db.collection('erasures'),
  meta: db.collection('meta'),
  tree: db.collection('tree'),
});

/** A collection of rows of the read model. */
export const rowsIn = (db: Db, name: string): Collection<PlantDocument> => db.collection(name);
