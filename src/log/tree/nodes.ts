/**
 * The nodes that a store keeps of the log's Merkle tree: of each level from 1 up the roots of the full tiles of the level below
 * (c2sp.org/tlog-tiles), so that the node `index` of a level stands for 256^level events. They are derived from the events, and
 * never change: whoever writes one writes the same. What is not there yet can be made from the events.
 */
export interface TreeNodes {
  /** How many nodes of a level there are. Rejects when the store cannot be reached. */
  count(level: number): Promise<number>;
  /** The nodes of a level from `start` up to, and without, `end`; as many as there are without a gap. */
  read(level: number, start: number, end: number): Promise<Uint8Array[]>;
  /** Writes nodes of a level, from `start` on. If it rejects, any prefix may be there. */
  write(level: number, start: number, nodes: readonly Uint8Array[]): Promise<void>;
  /** Removes the nodes of a level from `count` on. */
  truncate(level: number, count: number): Promise<void>;
}
