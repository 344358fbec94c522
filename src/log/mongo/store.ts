import { randomBytes } from 'node:crypto';
import { Binary, type Db, type MongoClient } from 'mongodb';
import type { IdempotencyKey } from '../../domain/idempotency.ts';
import type { Plant, PlantKey } from '../../domain/plant.ts';
import type { Head, LoggedEvent } from '../event/event.ts';
import {
  type Changes,
  type Contact,
  type FirstRows,
  type Leaseholder,
  LostRecordError,
  type Nodes,
  type PlantRow,
  type Rows,
  type Selection,
  type Snapshot,
  type Store,
  type Unfinished,
} from '../store.ts';
import { appendEvents } from './append.ts';
import { collectionsOf, LOG_ID, OWNERS_ID } from './collections.ts';
import { withCallLimit } from './connection/call-limit.ts';
import type { CausalClock } from './connection/causal-clock.ts';
import { isTransient } from './connection/errors.ts';
import type { Primary } from './connection/primary.ts';
import { Transactions } from './connection/transactions.ts';
import { MongoErasures } from './erasures.ts';
import { EventReader } from './events.ts';
import { Leases } from './leases.ts';
import { ReadModel } from './read-model/read-model.ts';

/** The log and the read model in a MongoDB replica set. */
export class MongoStore implements Store {
  readonly advanceLimit = 2_000;
  readonly #client: MongoClient;
  readonly #db: Db;
  readonly #clock: CausalClock;
  readonly #primary: Primary;
  readonly #transactions: Transactions;
  readonly #events: EventReader;
  readonly #readModel: ReadModel;
  readonly #leases: Leases;
  readonly #erasures: MongoErasures;
  #isClosed = false;

  /** Takes ownership of a connected client. `db` must have what ensureSchema creates. */
  constructor(client: MongoClient, db: Db, clock: CausalClock, primary: Primary) {
    this.#client = client;
    this.#db = db;
    this.#clock = clock;
    this.#primary = primary;
    this.#transactions = new Transactions(client, clock);
    const { leases } = collectionsOf(db);
    this.#events = new EventReader(db, clock, primary);
    this.#readModel = new ReadModel(db, clock, this.#transactions);
    this.#erasures = new MongoErasures(db, clock);
    this.#leases = new Leases(db, leases, clock, this.#transactions.sessionId);
  }

  async logId(): Promise<string> {
    const { meta } = collectionsOf(this.#db);
    const found = await this.#clock.run((session) => meta.findOne({ _id: LOG_ID }, { session }));
    if (found?.logId === undefined) throw new LostRecordError('the id of its log', 'log in meta');
    return found.logId;
  }

  async ownerKey(renew = false): Promise<Uint8Array> {
    const { meta } = collectionsOf(this.#db);
    const key = new Binary(randomBytes(32));
    const update = renew ? { $set: { key } } : { $setOnInsert: { key } };
    const options = { upsert: true, returnDocument: 'after' } as const;
    const found = await this.#clock.run((session) =>
      meta.findOneAndUpdate({ _id: OWNERS_ID }, update, { ...options, session }),
    );
    return found!.key!.value();
  }

  head(): Promise<Head> {
    return this.#events.head();
  }

  read(after: number, only: Selection = {}): AsyncIterable<LoggedEvent[]> {
    return this.#events.read(after, only);
  }

  append(events: readonly LoggedEvent[]): Promise<number> {
    return appendEvents(this.#db, this.#clock, events);
  }

  findByIdempotencyKeys(keys: readonly IdempotencyKey[]): Promise<(LoggedEvent | undefined)[]> {
    return this.#events.findByIdempotencyKeys(keys);
  }

  checkpoint(): Promise<number> {
    return this.#readModel.checkpoint();
  }

  generation(): Promise<number> {
    return this.#primary.read(() => this.#readModel.generation());
  }

  get(keys: readonly PlantKey[]): Promise<Rows<Plant | undefined>> {
    return this.#readModel.get(keys);
  }

  list(owner: string, after: bigint | undefined, limit: number): Promise<FirstRows<PlantRow>> {
    return this.#readModel.list(owner, after, limit);
  }

  snapshot(): Promise<Snapshot> {
    return this.#readModel.snapshot();
  }

  advance(from: number | undefined, to: number | undefined, changes: Changes, nodes: Nodes): Promise<boolean> {
    return this.#transacted(() => this.#readModel.advance(from, to, changes, nodes));
  }

  async #transacted<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      // A command of a frozen predecessor may have arrived after its transaction was ended, and reopened it.
      if (isTransient(error)) await this.#leases.endPredecessor();
      throw error;
    }
  }

  removeRows(owner: string, checkpoint: number): Promise<number | undefined> {
    return this.#transacted(() => this.#readModel.removeRows(owner, checkpoint));
  }

  nodes(start: number, end: number): Promise<Uint8Array[]> {
    return this.#readModel.nodes(start, end);
  }

  lease(name: string, holder: string, milliseconds: number, contact?: Contact): Promise<boolean> {
    return this.#leases.take(name, holder, milliseconds, contact);
  }

  leaseholder(name: string): Promise<Leaseholder | undefined> {
    return this.#leases.holder(name);
  }

  unfinished(): Promise<readonly Unfinished[]> {
    return this.#erasures.unfinished();
  }

  mayErase(): Promise<void> {
    return this.#erasures.mayErase();
  }

  eraseContents(owner: string, by: number): AsyncIterable<number> {
    return this.#erasures.eraseContents(owner, by);
  }

  clearErased(positions: readonly number[]): AsyncIterable<void> {
    return this.#erasures.clear(positions);
  }

  erasurePublished(position: number): Promise<void> {
    return this.#erasures.published(position);
  }

  endErasures(positions: readonly number[]): Promise<void> {
    return this.#erasures.end(positions);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#transactions.close();
    await withCallLimit(this.#client.close());
  }
}
