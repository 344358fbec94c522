import { LONGEST_LEASE } from './store.ts';

/** A lease as the store holds it. */
export interface HeldLease {
  readonly name: string;
  readonly holder: string;
  /** Milliseconds until it ends. See `isHeld`. */
  readonly left: number;
  /** `host:port` at which the holder takes commands of other instances, if it does. */
  readonly address?: string | undefined;
}

/** Whether nobody but the holder may take the lease: it is not over, and somebody can have taken it for so long. */
export const isHeld = ({ left }: HeldLease): boolean => left > 0 && left <= LONGEST_LEASE;

/** Facts about a database for an operator that the store does not report. Collecting them changes nothing. */
export interface Inspection {
  /** Schema version of the data: that of this release, which inspects no other. */
  readonly schema: number;
  readonly leases: readonly HeldLease[];
  /** Indexes and triggers of the schema that the database lacks. */
  readonly missing: readonly string[];
  /**
   * Milliseconds that the database's clock is ahead of this process's. Undefined when the database has no clock of its
   * own.
   */
  readonly clockAhead: number | undefined;
}
