import { type IdempotencyKey, idempotencyString } from '../../../src/domain/idempotency.ts';
import { keyString, type Plant, type PlantKey, plantFields, withId } from '../../../src/domain/plant.ts';
import { headAt } from '../../../src/log/event/chain.ts';
import { EMPTY_HEAD, type Erases, type Head, type LoggedEvent, plantEventOf } from '../../../src/log/event/event.ts';
import {
  type Changes,
  type Contact,
  type FirstRows,
  type Leaseholder,
  lostCheckpoint,
  type MissingRights,
  type Nodes,
  type PlantRow,
  RefusedAppendError,
  type Rows,
  type Selection,
  type Snapshot,
  type Store,
  type Unfinished,
} from '../../../src/log/store.ts';
import { nodeCountOf, storedHashes } from '../../../src/log/tree/nodes.ts';
import { randomBytes } from '../../../src/time/host.ts';
import { type Conditions, type Database, IDEAL, type Needs, type Write } from './database.ts';
import { changeErases, removeContents, unfinishedIn } from './erasures.ts';
import { freeLease, isOver, takeLease } from './leases.ts';
import { MemorySnapshot, ownersRows } from './snapshot.ts';
import { changedNodes, changedRows, indexAfter, type State } from './state.ts';

/** How much one call does. */
export interface Sizes {
  /** Events or rows of one read. */
  readonly batch: number;
  /** Keys or rows of a read of rows that come from one instant. */
  readonly instant: number;
  /** Events of one insert. */
  readonly insert: number;
  /** Positions of one step of an erasure. */
  readonly erased: number;
  readonly advanceLimit: number;
}

/** Sizes like those of a real store. */
export const USUAL: Sizes = { batch: 100, instant: 16, insert: 256, erased: 2_000, advanceLimit: 256 };

/** A handle on a database in memory, as one process has it. It promises what the port promises, and no more. */
export class MemoryStore implements Store {
  readonly name = 'memory';
  readonly advanceLimit: number;
  readonly #database: Database;
  readonly #conditions: Conditions;
  readonly #sizes: Sizes;
  /** The newest version that this handle has read or written: none of its later reads is older. */
  #seen = 0;

  constructor(database: Database, conditions: Conditions = IDEAL, sizes: Sizes = USUAL) {
    this.#database = database;
    this.#conditions = conditions;
    this.#sizes = sizes;
    this.advanceLimit = sizes.advanceLimit;
  }

  /** Reads what a majority has, as far as the server knows. */
  fresh<T>(what: string, look: (state: State) => T): Promise<T> {
    return this.#read(what, look, () => this.#known());
  }

  /** Reads what a majority has. A server that was deposed still answers, unless reads are strict. */
  #confirmed<T>(what: string, look: (state: State) => T): Promise<T> {
    return this.#read(what, look, () => this.#known(), this.#conditions.isStrict ? 'a majority' : 'a server');
  }

  #known(): State {
    const newest = Math.min(this.#database.committed.version, this.#conditions.newest());
    if (newest < this.#seen) throw new Error('the server does not have yet what this handle has seen');
    return this.#database.at(newest);
  }

  /** Reads what a majority had at some instant, no older than what this handle has seen. */
  old<T>(what: string, look: (state: State) => T): Promise<T> {
    return this.#read(what, look, () => {
      const { version } = this.#known();
      return this.#database.at(this.#conditions.seen(this.#seen, version));
    });
  }

  async #read<T>(what: string, look: (state: State) => T, state: () => State, needs: Needs = 'a server'): Promise<T> {
    const work = () => {
      const seen = state();
      const { version } = seen;
      return { result: { result: look(seen), version }, version };
    };
    const { result, version } = await this.#conditions.call(what, work, needs);
    this.#seen = Math.max(this.#seen, version);
    return result;
  }

  /** Does a write. Resolves when a majority has it. */
  async write<T>(what: string, write: Write<T>): Promise<T> {
    const { result, version } = await this.#conditions.call(
      what,
      () => {
        const { result, version } = this.#database.write(write);
        return { result: { result, version }, version };
      },
      'a majority',
    );
    this.#seen = Math.max(this.#seen, version);
    return result;
  }

  logId(): Promise<string> {
    return this.old('logId', ({ logId }) => logId);
  }

  ownerKey(renew = false): Promise<Uint8Array> {
    const fresh = randomBytes(32);
    return this.write('ownerKey', ({ ownerKey }) => {
      const key = ownerKey === undefined || renew ? fresh : ownerKey;
      return { changes: { ownerKey: key }, result: key };
    });
  }

  head(): Promise<Head> {
    return this.#confirmed('head', ({ events }) => {
      const last = events.at(-1);
      return last === undefined ? EMPTY_HEAD : headAt(last);
    });
  }

  async *read(
    after: number,
    { to = Number.POSITIVE_INFINITY, owner, id, erasures, signal }: Selection = {},
  ): AsyncGenerator<LoggedEvent[]> {
    const isWanted = (logged: LoggedEvent): boolean => {
      if (erasures && logged.type === 'OwnerErased') return true;
      const event = plantEventOf(logged);
      const owned = owner === undefined || event?.owner === owner;
      return owned && (id === undefined || event?.plantId === id);
    };
    for (let last = after, isWhole = false; !isWhole; ) {
      signal?.throwIfAborted();
      const found = await this.fresh('read', ({ events }) => {
        const start = indexAfter(events, last);
        return events.slice(start, start + this.#sizes.batch).filter(({ position }) => position <= to);
      });
      isWhole = found.length < this.#sizes.batch;
      last = found.at(-1)?.position ?? last;
      const wanted = found.filter(isWanted);
      if (wanted.length > 0) yield wanted;
    }
  }

  async append(events: readonly LoggedEvent[]): Promise<number> {
    let appended = 0;
    while (appended < events.length) {
      const slice = events.slice(appended, appended + this.#sizes.insert);
      const isFirst = appended === 0;
      const landed = await this.write('append', (state) => {
        if (this.#conditions.isFull()) throw isFirst ? new RefusedAppendError('full', {}) : new Error('full');
        return inserted(state, slice);
      });
      appended += landed;
      if (landed < slice.length) break;
    }
    return appended;
  }

  findByIdempotencyKeys(keys: readonly IdempotencyKey[]): Promise<(LoggedEvent | undefined)[]> {
    return this.old('findByIdempotencyKeys', ({ events }) => {
      const last = new Map<string, LoggedEvent>();
      for (const logged of events) {
        const event = plantEventOf(logged);
        for (const [name, { event: earlier }] of last)
          if (earlier !== undefined && 'owner' in earlier && earlier.owner === logged.erases?.owner) last.delete(name);
        const name = event && idempotencyString(event);
        if (name !== undefined) last.set(name, logged);
      }
      return keys.map((key) => last.get(idempotencyString(key)!));
    });
  }

  checkpoint(): Promise<number> {
    return this.old('checkpoint', ({ checkpoint }) => {
      if (checkpoint === undefined) throw lostCheckpoint();
      return checkpoint;
    });
  }

  #standing(): Promise<Omit<Rows<never>, 'rows'>> {
    return this.old('standing', ({ checkpoint, upTo, generation }) => {
      if (checkpoint === undefined) throw lostCheckpoint();
      return { checkpoint, upTo: Math.max(checkpoint, upTo), generation };
    });
  }

  generation(): Promise<number> {
    return this.#confirmed('generation', ({ checkpoint, generation }) => {
      if (checkpoint === undefined) throw lostCheckpoint();
      return generation;
    });
  }

  async get(keys: readonly PlantKey[]): Promise<Rows<Plant | undefined>> {
    const before = await this.#standing();
    const found: (Plant | undefined)[] = [];
    for (let from = 0; from < keys.length; from += this.#sizes.instant) {
      const some = keys.slice(from, from + this.#sizes.instant);
      const rows = await this.old('get', (state) => some.map(({ owner, id }) => state.rows.get(keyString(owner, id))));
      found.push(...rows.map((row) => row && plantFields(row)));
    }
    const { upTo } = await this.#standing();
    return { rows: found, ...before, upTo };
  }

  async list(owner: string, after: bigint | undefined, limit: number): Promise<FirstRows<PlantRow>> {
    const before = await this.#standing();
    const most = Math.min(limit, this.#sizes.batch);
    const rows: PlantRow[] = [];
    let isOver = false;
    while (!isOver && rows.length < most) {
      const wanted = Math.min(this.#sizes.instant, most - rows.length);
      const found = await this.old('list', (state) => ownersRows(state.rows, owner, rows.at(-1)?.id ?? after));
      rows.push(...found.slice(0, wanted).map((row) => withId(row.id, row)));
      isOver = found.length <= wanted;
    }
    const { upTo } = await this.#standing();
    return { rows, whole: isOver && rows.length < limit, ...before, upTo };
  }

  async waitBeforeLongRead(): Promise<void> {}

  async snapshot(): Promise<Snapshot> {
    const state = await this.old('snapshot', (found) => found);
    return new MemorySnapshot(this, state, this.#sizes.batch);
  }

  advance(
    from: number | undefined,
    to: number | undefined,
    changes: Changes,
    nodes: Nodes,
  ): Promise<boolean | undefined> {
    return this.write<boolean | undefined>('advance', (state) => {
      if (state.checkpoint !== from) return { changes: {}, result: false };
      const { erased } = changes;
      const gone = erased === undefined ? [] : ownersRows(state.rows, erased, undefined).slice(0, this.#sizes.instant);
      if (gone.length > 0) {
        const rows = new Map(state.rows);
        for (const { id } of gone) rows.delete(keyString(erased!, id));
        return { changes: { upTo: to!, rows }, result: undefined };
      }
      const isRepair = from === to || from === undefined;
      const kept = isRepair && to !== undefined ? nodeCountOf(to) : Number.POSITIVE_INFINITY;
      return {
        changes: {
          checkpoint: to,
          rows: changedRows(state.rows, changes),
          nodes: changedNodes(state.nodes, nodes, kept),
          generation: state.generation + Number(isRepair),
          ...(isRepair && !isErasing(state, from) && { upTo: 0 }),
        },
        result: true,
      };
    });
  }

  nodes(start: number, end: number): Promise<Uint8Array[]> {
    return this.old('nodes', ({ nodes }) => {
      const indexes = Array.from({ length: end - start }, (_, at) => start + at).filter((index) => nodes.has(index));
      return storedHashes(
        start,
        indexes.map((index) => [index, nodes.get(index)]),
      );
    });
  }

  nodeCount(): Promise<number> {
    return this.old('nodeCount', ({ nodes }) => nodes.size);
  }

  lease(name: string, holder: string, milliseconds: number, contact?: Contact): Promise<boolean> {
    const { clock } = this.#database;
    return this.write('lease', (state) =>
      milliseconds === 0
        ? freeLease(state, name, holder)
        : takeLease(state, name, { ...contact, holder, until: clock() + milliseconds }, clock()),
    );
  }

  leaseholder(name: string): Promise<Leaseholder | undefined> {
    return this.old('leaseholder', ({ leases }) => {
      const lease = leases.get(name);
      if (lease?.address === undefined || isOver(lease, this.#database.clock())) return undefined;
      const { until: _, ...holder } = lease;
      return holder as Leaseholder;
    });
  }

  wasLeased(name: string): Promise<boolean> {
    return this.old('wasLeased', ({ leases }) => leases.has(name));
  }

  unfinished(): Promise<readonly Unfinished[]> {
    return this.old('unfinished', unfinishedIn);
  }

  async *eraseContents(owner: string, by: number): AsyncGenerator<number> {
    let taken = 0;
    for (let after = 0; after < by - 1; after += this.#sizes.erased) {
      const to = Math.min(after + this.#sizes.erased, by - 1);
      taken += await this.write('eraseContents', (state) => removeContents(state, { owner, by, after, to }));
      yield taken;
    }
  }

  async *clearErased(positions: readonly number[]): AsyncGenerator<void> {
    const clear = (erases: Erases) => ({ ...erases, isCleared: true });
    yield await this.write('clearErased', (state) => changeErases(state, positions, clear));
  }

  erasurePublished(position: number, isPublished: boolean): Promise<void> {
    const publish = (erases: Erases) => ({ ...erases, isPublished });
    return this.write('erasurePublished', (state) => changeErases(state, [position], publish));
  }

  endErasures(positions: readonly number[], mustBePublished: boolean): Promise<void> {
    const end = (erases: Erases) => (mustBePublished && !erases.isPublished ? erases : undefined);
    return this.write('endErasures', (state) => changeErases(state, positions, end));
  }

  async cleared(): Promise<void> {}

  async fault(): Promise<undefined> {}

  async missingRights(): Promise<MissingRights> {
    return { service: [], erasure: [] };
  }

  async close(): Promise<void> {}
}

/** Inserts events one after the other, up to a position that is taken. Looks at nothing but the positions. */
function inserted(state: State, events: readonly LoggedEvent[]): ReturnType<Write<number>> {
  const all = [...state.events];
  let landed = 0;
  for (const event of events) {
    const index = indexAfter(all, event.position);
    if (all[index - 1]?.position === event.position) break;
    all.splice(index, 0, event);
    landed++;
  }
  return { changes: landed === 0 ? {} : { events: all }, result: landed };
}

/** Whether the event right behind the checkpoint erases an owner. */
const isErasing = ({ events }: State, checkpoint: number | undefined): boolean =>
  events.some(({ position, erases }) => position - 1 === checkpoint && erases !== undefined);
