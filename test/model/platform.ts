import type { PlantKey } from '../../src/domain/plant.ts';
import type { OwnedRow, Store } from '../../src/log/store.ts';

/** The rows of the read model and the checkpoint that stands beside them, read past the store. */
export interface RawRows {
  readonly rows: readonly OwnedRow[];
  readonly checkpoint: number;
}

/** An empty database of one kind: how the processes of an installation open it, and how somebody damages it past them. */
export interface Platform {
  /** How many instances of the service may run on it at once. */
  readonly instances: number;
  /** A store as an instance of the service opens it. */
  openInstance(): Promise<Store>;
  /** A store as `audit rebuild` and `audit import` open it. */
  openOperator(): Promise<Store>;
  /** A store as `audit verify` and `audit export` open it. */
  openAuditor(): Promise<Store>;
  /** Another database of the same kind, which is empty. */
  another(): Promise<Platform>;
  rows(): Promise<RawRows>;
  /** Puts a row in the place of what is there. */
  putRow(row: OwnedRow): Promise<void>;
  removeRow(key: PlantKey): Promise<void>;
  /** Ends every lease, as time does. */
  expireLeases(): Promise<void>;
  /** The environment in which `plantstore` finds it. */
  readonly environment: Readonly<Record<string, string>>;
  remove(): Promise<void>;
}
