import { PlantStoreError } from '../domain/errors.ts';
import type { IdempotencyKey } from '../domain/idempotency.ts';
import type { NewPlant, Plant, PlantKey } from '../domain/plant.ts';
import type { Erases, Head, LoggedEvent } from './event/event.ts';

/** One row of the read model. */
export type PlantRow = NewPlant;

/** A row of the read model with its owner. */
export type OwnedRow = PlantRow & PlantKey;

/** An OwnerErased event whose erasure is not complete. */
export type Unfinished = LoggedEvent & { readonly erases: Erases };

/** Where the read model stands. */
export interface Standing {
  /** The rows are the fold of the log up to here at least, but for what `upTo` says. */
  readonly checkpoint: number;
  /**
   * No row includes an event after this one. Rows of owners who are erased by events up to here may be gone already.
   * Never below the checkpoint. Whoever uses rows has the events between the two on top.
   */
  readonly upTo: number;
}

/**
 * Rows of the read model, read without a snapshot: each row may come from a different moment. `checkpoint` and
 * `generation` were read no later than the first row, and `upTo` no earlier than the last.
 */
export interface Rows<Row> extends Standing {
  readonly rows: Row[];
  readonly generation: number;
}

/** The first rows of an owner. */
export interface FirstRows<Row> extends Rows<Row> {
  /** No row follows. */
  readonly whole: boolean;
}

/** The changes of one step to the read model. No key is in one list twice. Deletes come first. */
export interface Changes {
  /** Keys whose rows go, where there are any. */
  readonly deletes: PlantKey[];
  /** Rows that exist after the step. A key that is not in deletes has no row before it. */
  readonly inserts: OwnedRow[];
  /** The owner whom the step's event erases, all of whose rows go before it. */
  readonly erased?: string | undefined;
}

/** Rights that a database user lacks, such as `remove on plants`: those of the service, and those of erasures alone. */
export interface MissingRights {
  readonly service: readonly string[];
  readonly erasure: readonly string[];
}

/** Consecutive nodes of level 1 of the Merkle tree (c2sp.org/tlog-tiles): n is of the events 256n + 1 to 256n + 256. */
export interface Nodes {
  /** Index of the first. */
  readonly first: number;
  readonly hashes: readonly Uint8Array[];
}

/**
 * The log is not the one that this instance has seen: it is shorter, its events differ, or its file was replaced. This
 * happens when an older backup is restored under a running instance. The instance's memory is then invalid, and an
 * append would leave a gap or a broken chain. Only a restart helps.
 */
export class LogReplacedError extends Error {
  /** `why`: what is wrong and where, in words for an operator. */
  constructor(why: string, options?: ErrorOptions) {
    super(
      `${why}; this instance no longer answers or appends: stop all instances, make sure that the log is the right one, and start them again`,
      options,
    );
    this.name = 'LogReplacedError';
  }
}

/** The store lacks a record that it is created with and that nothing deletes. Retrying is useless. */
export class LostRecordError extends Error {
  /** `what` and `where`, in words. */
  constructor(what: string, where: string) {
    super(`the store has lost ${what} (${where}): restore a backup`);
    this.name = 'LostRecordError';
  }
}

/** The database is damaged so much that the store cannot be opened. */
export class DamagedStoreError extends Error {
  /** What the database found. */
  readonly fault: string;

  constructor(path: string, cause: Error) {
    super(`${path} is damaged (${cause.message}): run plantstore audit verify, and restore a backup if it says NO`, {
      cause,
    });
    this.name = 'DamagedStoreError';
    this.fault = cause.message;
  }
}

/**
 * The read model cannot be used: its checkpoint is gone or was set, or its rows do not fit the log. Retrying is
 * useless.
 */
export class BrokenReadModelError extends Error {
  /** `why` and the `remedy`, in words. */
  constructor(why: string, remedy = 'run plantstore audit rebuild') {
    super(`${why}: ${remedy}`);
    this.name = 'BrokenReadModelError';
  }
}

/** A row has a key that no service writes and no repair replaces. The message says what to do. Retrying is useless. */
export class MalformedRowError extends Error {
  /** `where` the row is, in words. */
  constructor(where: string) {
    super(
      `${where} has an _id of another type than the service writes: delete it by hand (docs/mongodb.md says how to find it), then run plantstore audit rebuild`,
    );
    this.name = 'MalformedRowError';
  }
}

/** The error for a store without the record that says up to where its read model is folded. */
export const lostCheckpoint = (): BrokenReadModelError =>
  new BrokenReadModelError('the store has lost the checkpoint of its read model');

/**
 * The database refused an append, or what goes before it: none of its events is in the log, or will be by it. Retrying
 * is useless until somebody has acted. The message says why, in words for callers.
 */
export class RefusedAppendError extends Error {
  override readonly name = 'RefusedAppendError';
}

/** Something that is wrong with what is stored. */
export interface Fault {
  /** What is wrong, for people. */
  readonly message: string;
  /** Position of the event, if it concerns one. */
  readonly position?: number;
}

/** The store has ended a snapshot that was in the way of other work. A new one can be taken. */
export class SnapshotEndedError extends PlantStoreError {
  constructor() {
    super(
      'STORE_UNAVAILABLE',
      'the database no longer keeps the state that this read began with; try again, and read long lists in pages with limit',
    );
    this.name = 'SnapshotEndedError';
  }
}

/**
 * The read model at one instant. Closing it lets the store forget that instant. Reading never ends early without an
 * error: SnapshotEndedError, if the store has ended it.
 */
export interface Snapshot {
  /** The checkpoint: the rows are exactly the fold of the log up to here. Undefined: it is gone. */
  readonly position: number | undefined;
  /** See Standing. */
  readonly upTo: number;
  /** Rows of an owner in ascending id, after `after` (undefined: all), in batches of bounded size. */
  list(owner: string, after: bigint | undefined): AsyncIterable<PlantRow[]>;
  /** Every row, in ascending owner (by the bytes of its UTF-8) and id, in batches of bounded size. */
  all(): AsyncIterable<OwnedRow[]>;
  /** May be called more than once, and during a read. That read then rejects. */
  close(): Promise<void>;
}

/** Which events after a position to read. Absent members do not restrict the selection. */
export interface Selection {
  /** Only up to this position. */
  readonly to?: number | undefined;
  /** Only events of this owner. */
  readonly owner?: string | undefined;
  /** With an owner: OwnerErased events too, whomever they erase. */
  readonly erasures?: true | undefined;
  /** Only events of plants with this id. */
  readonly id?: bigint | undefined;
  /** Compares what the store keeps to find events with the events; see `misfiled`. Not with a selection. */
  readonly checksKeys?: true | undefined;
  /** Ends the read, which then rejects with the signal's reason, also while it finds nothing. */
  readonly signal?: AbortSignal | undefined;
}

/** How other instances reach the holder of a lease. Only instances can read it: the secret admits its bearer. */
export interface Contact {
  /** `host:port` of its gRPC port. */
  readonly address: string;
  /** The secret that a caller must show there. New each time the lease is taken. */
  readonly secret: string;
  /** The certificate that the holder shows there, in PEM. Undefined, as in a lease of 1.0.0: nobody is trusted. */
  readonly certificate?: string | undefined;
}

/**
 * Most milliseconds of a lease. One that seems to last longer is that of a clock that has since been set back, or was
 * written by hand, and counts as over. It is far more than anybody takes a lease for, so that the clocks of two
 * database servers may differ by much before one of them takes a good lease for such a one.
 */
export const LONGEST_LEASE = 60_000;
/** The lease of the instance that publishes. A log is published once anybody has taken it. */
export const PUBLISHER_LEASE = 'publisher';
/** The lease of who moves the read model, or repairs it. */
export const PROJECTOR_LEASE = 'projector';

/** The holder of a lease. */
export interface Leaseholder extends Contact {
  readonly holder: string;
}

/**
 * What the log needs from a database: it stores the log, appends events if no other instance did, and keeps one read
 * model whose rows and checkpoint move together. Everything else (deciding, batching, merging, chaining, projecting)
 * builds on this port.
 *
 * Every method rejects when the store cannot be reached. Everything it returns is durable: on a majority or on the
 * disk. Except for what is repeated anyway: a power cut may undo leases, and the last steps of a projector and of
 * `eraseContents`.
 */
export interface Store {
  /** The kind of store, and the database, without credentials: for operators. */
  readonly name: string;
  /** Most events for one `advance`, so that it blocks no other work for long. */
  readonly advanceLimit: number;

  /** The log's id: 32 random hexadecimal digits. Rejects with LostRecordError when it is gone. */
  logId(): Promise<string>;

  /**
   * The key with which all instances name owners in their own logs: 32 random bytes, made when first asked for.
   * `renew`: replaces it. Then nobody can find out any more whom earlier lines name.
   */
  ownerKey(renew?: boolean): Promise<Uint8Array>;

  /** The log's end, including everything that any instance acknowledged before the call. */
  head(): Promise<Head>;

  /**
   * Events after a position (-Infinity: whatever is there), in order, in batches of bounded size, up to the log's end
   * at some instant after the call, or as far as `only` says. Events outside the selection are not sent, but finding
   * the others takes time: there is no index. Rejects with BrokenChainError for data that is no event as `append`
   * writes it.
   */
  read(after: number, only?: Selection): AsyncIterable<LoggedEvent[]>;

  /**
   * Appends one or more events if the log ends just before the first of them. Returns the number of appended events:
   * all, or those before a position that something else holds, or before an event that the database refuses. They are
   * never out of order. There is no gap as long as the log still has the event before the first; the caller checks that
   * (Appender).
   *
   * Rejects with RefusedAppendError when nothing was appended for certain. After any other error the outcome is
   * unknown: any prefix may be in the log, now or later.
   */
  append(events: readonly LoggedEvent[]): Promise<number>;

  /**
   * The last event of each of these idempotency keys (at least one), in their order; undefined if there is none after
   * the owner's last OwnerErased. Includes at least everything that this handle has read or appended before.
   */
  findByIdempotencyKeys(keys: readonly IdempotencyKey[]): Promise<(LoggedEvent | undefined)[]>;

  /** The position up to which the read model is folded. Rejects with BrokenReadModelError when it is gone. */
  checkpoint(): Promise<number>;

  /** The generation of the read model's rows. It grows with each repair, and never misses a completed one. */
  generation(): Promise<number>;

  /** The rows of these keys, in their order. */
  get(keys: readonly PlantKey[]): Promise<Rows<Plant | undefined>>;

  /**
   * An owner's first rows after `after` (undefined: from the smallest id), in ascending id, at most `limit`. They are
   * fewer if so many are too much at once, but at least one if there is one.
   */
  list(owner: string, after: bigint | undefined, limit: number): Promise<FirstRows<PlantRow>>;

  /**
   * Resolves when a snapshot may be taken: some seconds later at most, while the store does work that a snapshot would
   * hold up. Await it before anything is taken that others wait for.
   */
  waitBeforeLongRead(): Promise<void>;

  /** Most snapshots that lists may have open at once. Undefined: any number. */
  readonly maxSnapshots?: number;

  /** The read model as of now, for reading at any pace; see `waitBeforeLongRead`. */
  snapshot(): Promise<Snapshot>;

  /**
   * Moves the checkpoint from `from` to `to` (undefined: it is gone), applies the changes, and writes nodes, in one
   * atomic step. Returns false and does nothing when the checkpoint is not `from`. Rejects with BrokenReadModelError
   * and does nothing when the changes do not fit the rows.
   *
   * While `erased` has rows, deletes some of them instead, and returns undefined: the same call does more. Before the
   * first row goes, `upTo` is `to`. A repair may put some back until the step is done.
   *
   * A projector gives the changes and the nodes that the events after `from` make, up to `to`. Every other step is a
   * repair: `to` is `from`, or `from` is gone. With it the generation grows, nodes that are not of the first `to`
   * events go, and so does an `upTo` that no erasure has left.
   */
  advance(
    from: number | undefined,
    to: number | undefined,
    changes: Changes,
    nodes: Nodes,
  ): Promise<boolean | undefined>;

  /** Those nodes from `start` up to, not including, `end` that come before a gap. Rejects with BrokenTreeError. */
  nodes(start: number, end: number): Promise<Uint8Array[]>;

  /**
   * How many nodes there are, whatever their indexes. After each `advance` of a projector, as many as its events make.
   */
  nodeCount(): Promise<number>;

  /**
   * Takes or renews a lease for this many milliseconds, at most LONGEST_LEASE; 0 gives it back. Returns false while
   * another holder has it. A lease only avoids useless work: everything done under it is safe without it. With a
   * contact, `leaseholder` tells other instances how to reach the holder.
   */
  lease(name: string, holder: string, milliseconds: number, contact?: Contact): Promise<boolean>;

  /** The holder of a current lease with a contact. Always undefined for a store of a single process. */
  leaseholder(name: string): Promise<Leaseholder | undefined>;

  /** Whether anybody has ever taken a lease. */
  wasLeased(name: string): Promise<boolean>;

  /** The OwnerErased events whose erasure is not complete, in ascending position. */
  unfinished(): Promise<readonly Unfinished[]>;

  /**
   * Removes the content of all events of an owner before position `by`, that of its OwnerErased event, in ascending
   * order. Yields the number of events so far; a repeated call does the rest. The read model must be at `by`.
   */
  eraseContents(owner: string, by: number): AsyncIterable<number>;

  /**
   * Clears what was removed from unused space of the database, and records that for the OwnerErased events at these
   * positions. Yields after each step. Whoever ends the iteration ends the work; a repeated call does it.
   */
  clearErased(positions: readonly number[]): AsyncIterable<void>;

  /** Records whether the topic has the OwnerErased event at a position. */
  erasurePublished(position: number, isPublished: boolean): Promise<void>;

  /**
   * Completes the erasures of the OwnerErased events at these positions; `mustBePublished`: of those alone that the
   * topic has by now. The owners' names are then nowhere in the store, but for what `cleared` waits for.
   */
  endErasures(positions: readonly number[], mustBePublished: boolean): Promise<void>;

  /**
   * Resolves when no file of the store holds what was removed by then, in this process or before its start. Rejects
   * with OWNER_BEING_ERASED when a reader of the database holds that up; a repeated call tries again.
   */
  cleared(): Promise<void>;

  /** A fault that the database finds in itself, such as an index that does not match its table. Undefined: no fault. */
  fault(): Promise<Fault | undefined>;

  /** What the database does not allow its user. */
  missingRights(): Promise<MissingRights>;

  /** Releases everything. No other method may be called afterwards. */
  close(): Promise<void>;
}
