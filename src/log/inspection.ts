/** A lease, as it stands in the store. */
export interface HeldLease {
  readonly name: string;
  readonly holder: string;
  /** Milliseconds until it ends; 0 or less: it is over, and whoever wants it may take it. */
  readonly left: number;
}

/** What an operator wants to know of a database beside what the store tells: found without changing anything. */
export interface Inspection {
  /** Version of the schema of the data, and the one that this release makes of it at its next start. */
  readonly schema: { readonly found: number; readonly known: number };
  readonly leases: readonly HeldLease[];
  /** Names of what rebuilds that were ended left behind, and nobody reads. */
  readonly leftovers: readonly string[];
  /** Indexes and triggers that the schema has and the database lacks. */
  readonly missing: readonly string[];
  /** Milliseconds that the database's clock is ahead of this process's; undefined where it has none of its own. */
  readonly clockAhead: number | undefined;
}
