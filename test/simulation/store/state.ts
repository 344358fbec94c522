import { keyString, type PlantKey } from '../../../src/domain/plant.ts';
import type { LoggedEvent } from '../../../src/log/event/event.ts';
import {
  BrokenReadModelError,
  type Changes,
  type Leaseholder,
  type Nodes,
  type OwnedRow,
} from '../../../src/log/store.ts';

/** Rows of a read model by keyString. */
export type StoredRows = ReadonlyMap<string, OwnedRow>;

/** A lease as it is stored. */
export interface StoredLease extends Partial<Leaseholder> {
  readonly holder: string;
  /** By the database's clock. */
  readonly until: number;
}

/** Everything in a database at one instant. It never changes: a write makes the next state. */
export interface State {
  /** Grows by 1 with each write. */
  readonly version: number;
  /** When it was written, by the database's clock. */
  readonly since: number;
  readonly logId: string;
  /** Undefined until it is asked for. */
  readonly ownerKey: Uint8Array | undefined;
  /** In ascending position. A gap is possible, as in a collection whose key is the position. */
  readonly events: readonly LoggedEvent[];
  readonly rows: StoredRows;
  /** Undefined: it is gone. */
  readonly checkpoint: number | undefined;
  /** See Standing. It may be below the checkpoint. */
  readonly upTo: number;
  readonly generation: number;
  /** Nodes of the tree by index. */
  readonly nodes: ReadonlyMap<number, Uint8Array>;
  readonly leases: ReadonlyMap<string, StoredLease>;
}

/** The state of a new database. */
export const emptyState = (logId: string): State => ({
  version: 0,
  since: 0,
  logId,
  ownerKey: undefined,
  events: [],
  rows: new Map(),
  checkpoint: 0,
  upTo: 0,
  generation: 0,
  nodes: new Map(),
  leases: new Map(),
});

/** Index of the first event after a position. */
export function indexAfter(events: readonly LoggedEvent[], position: number): number {
  let [low, high] = [0, events.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (events[middle]!.position <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The rows after changes. Throws BrokenReadModelError when the changes do not fit. */
export function changedRows(rows: StoredRows, { deletes, inserts }: Changes): StoredRows {
  const changed = new Map(rows);
  for (const { owner, id } of deletes) changed.delete(keyString(owner, id));
  for (const row of inserts) {
    const key = keyString(row.owner, row.id);
    if (changed.has(key)) throw new BrokenReadModelError('the read model has a plant that is to be added');
    changed.set(key, row);
  }
  return changed;
}

/** The nodes after a step, and none from an index on. */
export function changedNodes(
  nodes: State['nodes'],
  { first, hashes }: Nodes,
  kept: number,
): ReadonlyMap<number, Uint8Array> {
  const changed = new Map([...nodes].filter(([index]) => index < kept));
  for (const [at, hash] of hashes.entries()) changed.set(first + at, hash);
  return changed;
}

/** The order of rows: by the bytes of the owner's UTF-8, and by id. */
export const inOrder = (a: PlantKey, b: PlantKey): number =>
  (a.owner === b.owner ? 0 : Buffer.compare(Buffer.from(a.owner), Buffer.from(b.owner))) ||
  (a.id < b.id ? -1 : Number(a.id > b.id));
