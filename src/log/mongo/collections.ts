import type { Binary, Collection, Db, Long } from 'mongodb';
import type { EventDocument, PlantDocument } from './documents.ts';

/** Where a read model stands. */
export interface CheckpointDocument {
  readonly _id: string;
  readonly position: Long;
}

/** Who may do a thing until when, by the server's clock. */
export interface LeaseDocument {
  readonly _id: string;
  readonly holder: string;
  readonly until: Date;
  /** Id of the server session in which the holder runs its transactions: whoever takes over ends it. */
  readonly session: Binary;
}

/** `_id` of the document in `meta` that tells which release's documents the database holds. */
export const SCHEMA_ID = 'schema';
/** `_id` of the document in `meta` that is written to find out whether the primary still is one. */
export const PRIMARY_ID = 'primary';

/** What the database says about itself. */
export interface MetaDocument {
  readonly _id: typeof SCHEMA_ID | typeof PRIMARY_ID;
  readonly version?: number;
  readonly confirmations?: Long;
}

/** `_id` in `checkpoints` of the one read model that there is. */
export const PLANTS_CHECKPOINT = 'plants';

/** The collections of a store. */
export interface Collections {
  readonly events: Collection<EventDocument>;
  readonly plants: Collection<PlantDocument>;
  readonly checkpoints: Collection<CheckpointDocument>;
  readonly leases: Collection<LeaseDocument>;
  readonly meta: Collection<MetaDocument>;
}

/** The collections of a store in a database. */
export const collectionsOf = (db: Db): Collections => ({
  events: db.collection('events'),
  plants: db.collection('plants'),
  checkpoints: db.collection('checkpoints'),
  leases: db.collection('leases'),
  meta: db.collection('meta'),
});
