/**
 * The stored nodes of the log's Merkle tree: for each level from 1 up, the roots of the full tiles of the level below
 * (c2sp.org/tlog-tiles). So node `index` of a level covers 256^level events. Nodes are derived from the events and
 * never change: every writer writes the same values. Missing nodes can be made from the events.
 */
export interface TreeNodes {
  /** The number of nodes of a level. Rejects when the store cannot be reached. */
  count(level: number): Promise<number>;
  /** The nodes of a level from `start` up to but not including `end`, as many as exist without a gap. */
  read(level: number, start: number, end: number): Promise<Uint8Array[]>;
  /** Writes nodes of a level, from `start` on. If it rejects, any prefix may be written. */
  write(level: number, start: number, nodes: readonly Uint8Array[]): Promise<void>;
  /** Removes the nodes of a level from index `count` on. */
  truncate(level: number, count: number): Promise<void>;
}
