import type { Binary, Collection, Db, Long } from 'mongodb';
import type { Contact } from '../store.ts';
import type { EventDocument, PlantDocument } from './documents.ts';

/** Where the read model stands, and which collection holds its rows: both change in one step. */
export interface CheckpointDocument {
  readonly _id: string;
  readonly position: Long;
  /** Name of the collection that holds the rows: `plants`, until a rebuild has taken its place. */
  readonly collection: string;
  /** Rebuilds that were ever started. */
  readonly rebuilds: number;
  /** Name of the collection in which the last of them makes new rows, until it ends. */
  readonly building?: string;
}

/** `_id` in `checkpoints` of the one read model that there is. */
export const PLANTS_CHECKPOINT = 'plants';

/** The collection of rows that a number of rebuilds ends with: no two have the same. */
export const plantsCollection = (rebuilds: number): string => (rebuilds === 0 ? 'plants' : `plants_${rebuilds}`);

/** The number of the rebuild that made a collection of rows, 0 for the first; undefined: the name is of no such collection. */
export function rebuildOf(collection: string): number | undefined {
  const [, rebuilds] = /^plants(?:_([1-9][0-9]*))?$/.exec(collection) ?? [undefined, undefined];
  return collection === 'plants' ? 0 : rebuilds === undefined ? undefined : Number(rebuilds);
}

/** Who may do a thing until when, by the server's clock. */
export interface LeaseDocument {
  readonly _id: string;
  readonly holder: string;
  readonly until: Date;
  /** Id of the server session in which the holder runs transactions under the lease: whoever takes over ends it. */
  readonly session?: Binary;
  /** How the others reach the holder, if it does not run transactions under the lease but takes commands; see Contact. */
  readonly contact?: Contact;
}

/** An erasure that is not done; see Erasure. */
export interface ErasureDocument {
  /** The owner: there is one erasure of each at a time. */
  readonly _id: string;
  readonly eventId: string;
  readonly actor: string;
  readonly issuer?: string | undefined;
  readonly since: Date;
  readonly after: Long;
  readonly erasedBy?: Long;
  readonly isPublished: boolean;
}

/** `_id` of the document in `meta` that tells which release's documents the database holds. */
export const SCHEMA_ID = 'schema';
/** `_id` of the document in `meta` that is written to find out whether the primary still is one. */
export const PRIMARY_ID = 'primary';
/** `_id` of the document in `meta` that holds the log's id. */
export const LOG_ID = 'log';

/** What the database says about itself. */
export interface MetaDocument {
  readonly _id: typeof SCHEMA_ID | typeof PRIMARY_ID | typeof LOG_ID;
  readonly version?: number;
  readonly confirmations?: Long;
  readonly logId?: string;
}

/** A node of the tree. The level comes first, so that the index on `_id` holds the nodes of a level together. */
export interface TreeNodeDocument {
  readonly _id: { readonly level: number; readonly node: Long };
  readonly hash: Binary;
}

/** The collections of a store, but for those that hold the rows of the read model. */
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
