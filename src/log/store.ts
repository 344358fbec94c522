import type { IdempotencyKey } from '../domain/idempotency.ts';
import type { Plant, PlantKey } from '../domain/plant.ts';
import type { Erasure } from './erasure/erasure.ts';
import type { Head, LoggedEvent } from './event/event.ts';
import type { TreeNodes } from './tree/nodes.ts';

/** One row of the read model. */
export interface PlantRow extends Plant {
  readonly id: bigint;
}

/** A row of the read model and whose plant it is. */
export type OwnedRow = PlantRow & PlantKey;

/**
 * Rows of the read model, read without a snapshot: each row may come from another moment. `checkpoint` was read no earlier than
 * the last row, so no row knows of an event after it. `generation` was read no later than the first row.
 */
export interface Rows<Row> {
  readonly rows: Row[];
  readonly checkpoint: number;
  readonly generation: number;
}

/** What one step of the projector does to the read model. No key is in one list twice; deletes come first. */
export interface Changes {
  /** Keys that have a row before the step. */
  readonly deletes: PlantKey[];
  /** Rows that stand after the step. A key may be in deletes too: it is replaced. */
  readonly inserts: OwnedRow[];
}

/** The rows that a snapshot was read from are gone: a rebuild took their place. What was read till then is right, and not all. */
export class RowsReplacedError extends Error {
  constructor() {
    super('the read model was rebuilt, and the rows that were being read are gone');
    this.name = 'RowsReplacedError';
  }
}

/**
 * The read model at one instant. Closing it lets the store forget that instant. Reading rejects, with RowsReplacedError, where the
 * store has no longer all of the rows; it never ends early.
 */
export interface Snapshot {
  /** The checkpoint: the rows are exactly the fold of the log up to here. */
  readonly position: number;
  /** Rows of an owner in ascending id, those after `after` (undefined: all), in batches of bounded size. */
  list(owner: string, after: bigint | undefined): AsyncIterable<PlantRow[]>;
  /** Every row, in ascending owner (by the bytes of its UTF-8) and id, in batches of bounded size. */
  all(): AsyncIterable<OwnedRow[]>;
  /** May be called more than once, and while a batch is being read: that read then rejects. */
  close(): Promise<void>;
}

/** Which of the events after a position to read; what is not given does not matter. */
export interface Selection {
  /** Only up to this position. */
  readonly to?: number | undefined;
  /** Only this owner's. */
  readonly owner?: string | undefined;
  /** Only of plants with this id. */
  readonly id?: bigint | undefined;
}

/** A read model that is built beside the live one. Nobody else reads it until it takes the live one's place. */
export interface Rebuild {
  /** Applies changes, in one atomic step of any size up to `advanceLimit`. Rejects when they do not fit the rows. */
  apply(changes: Changes): Promise<void>;
  /** Every row, in ascending owner (by the bytes of its UTF-8) and id, in batches of bounded size. */
  all(): AsyncIterable<OwnedRow[]>;
  /**
   * Puts the rows in the place of the live ones, as a new generation, and moves the checkpoint to `position`, of whose fold they
   * are, in one atomic step. False, with nothing done, when the live read model is further than that.
   */
  swap(position: number): Promise<boolean>;
  /** Drops what was built, unless it was swapped. */
  close(): Promise<void>;
}

/** How the holder of a lease is reached by the other instances. They alone read it: the secret opens the way in. */
export interface Contact {
  /** `host:port` of its gRPC port. */
  readonly address: string;
  /** What a caller has to show there; new each time the lease is taken. */
  readonly secret: string;
  /** The certificate that it shows there, in PEM; undefined: it speaks plaintext. */
  readonly certificate?: string | undefined;
}

/** Who has a lease. */
export interface Leaseholder extends Contact {
  readonly holder: string;
}

/**
 * What a database has to do for the log: hold it, append to it if nobody else did, and keep one read model whose rows and
 * checkpoint move together. All else (deciding, batching, merging, chaining, projecting) stands on this port.
 *
 * Every method rejects when the store cannot be reached. What it returns is durable: a majority has it, or the disk.
 */
export interface Store {
  /** Most events that one `advance` should take, so that it holds up nobody. */
  readonly advanceLimit: number;

  /** What is kept of the log's Merkle tree. */
  readonly tree: TreeNodes;

  /** The log's id: 32 hexadecimal digits, made at random with the store. Rejects where an older release made it. */
  logId(): Promise<string>;

  /** The end of the log, no older than anything acknowledged by any instance before the call. */
  head(): Promise<Head>;

  /**
   * Events after a position, in order, in batches of bounded size; up to the end of the log as of some instant after the call,
   * or as far as `only` says. What it leaves out is not sent; to find it takes time all the same, as there is no index for it.
   * Rejects with BrokenChainError at what is not exactly what `append` writes for some event.
   */
  read(after: number, only?: Selection): AsyncIterable<LoggedEvent[]>;

  /**
   * Appends events, one at least, if the log ends just before the first of them. Returns how many were appended: all, or as many
   * as stood before a position that something else holds. Never out of order; and without a hole where the log still has what the
   * first of them builds on, of which the caller makes sure (Follower.confirm).
   * Rejects when the outcome is unknown: any prefix may be in the log, now or later.
   */
  append(events: readonly LoggedEvent[]): Promise<number>;

  /**
   * The last event of each of these idempotency keys, one at least, in their order; undefined where there is none. It knows at
   * least of all that this handle has read or appended before the call.
   */
  findByIdempotencyKeys(keys: readonly IdempotencyKey[]): Promise<(LoggedEvent | undefined)[]>;

  /** The position up to which the read model is folded. */
  checkpoint(): Promise<number>;

  /** The generation of the read model's rows, which grows with each rebuild that takes their place; that of none that ended is missed. */
  generation(): Promise<number>;

  /** The rows of these keys, in their order. */
  get(keys: readonly PlantKey[]): Promise<Rows<Plant | undefined>>;

  /** An owner's first rows after `after` (undefined: from the smallest id), in ascending id, at most `limit`. */
  list(owner: string, after: bigint | undefined, limit: number): Promise<Rows<PlantRow>>;

  /** The read model as of now, to be read at leisure. Rejects with OVERLOADED when too many are open. */
  snapshot(): Promise<Snapshot>;

  /**
   * Moves the checkpoint from `from` to `to` and applies the changes, in one atomic step. False, with nothing done, when the
   * checkpoint is not at `from`. Rejects when the changes do not fit the rows, with nothing done.
   */
  advance(from: number, to: number, changes: Changes): Promise<boolean>;

  /** An empty read model beside the live one. There is one at a time: what an earlier call built, or left behind, is dropped. */
  rebuild(): Promise<Rebuild>;

  /**
   * Takes or renews a lease for so many milliseconds; 0 gives it back. False while another holder has it. A lease only spares useless work:
   * everything done under it is safe without it. With a contact, `leaseholder` tells the others how to reach the holder.
   */
  lease(name: string, holder: string, milliseconds: number, contact?: Contact): Promise<boolean>;

  /** Who has a lease that still lasts and gave a contact with it. Always undefined where a store serves a single process. */
  leaseholder(name: string): Promise<Leaseholder | undefined>;

  /** The erasures that are not done, in the order in which they were begun. */
  erasures(): Promise<readonly Erasure[]>;

  /**
   * Notes that an owner is to be erased; nothing, where that is noted already. Rejects with MayNotEraseError, and nothing noted, when the
   * events cannot be changed with this store.
   */
  beginErasure(erasure: Erasure): Promise<void>;

  /**
   * Takes the content of all events of an owner before position `by`, which is that of its OwnerErased event, in ascending order. Yields
   * how many it took so far. To do it again does what is left. The caller sees to it that the read model stands at `by` at least.
   */
  eraseContents(owner: string, by: number): AsyncIterable<number>;

  /** Clears what was removed out of the places that the database no longer uses, as far as it can, and notes that all is removed. */
  contentsErased(eventId: string, by: number): Promise<void>;

  /** Notes that the topic has the OwnerErased event of this id. */
  erasurePublished(eventId: string): Promise<void>;

  /** Forgets an erasure: nothing is left to do. The owner's name is then nowhere in the store. */
  endErasure(eventId: string): Promise<void>;

  /**
   * What the database finds wrong in itself, such as an index that does not hold what its table holds; undefined: nothing. A store
   * whose database cannot tell while it is used has no such method.
   */
  fault?(): Promise<string | undefined>;

  /** Lets go of what is held open. Nothing but this may be called afterwards. */
  close(): Promise<void>;
}
