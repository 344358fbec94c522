import { type ClientSession, type Db, Long, type MongoClient } from 'mongodb';
import { keyString, type Plant, type PlantKey } from '../../domain/plant.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent } from '../event.ts';
import type { Changes, PlantRow, Rows, Snapshot, Store } from '../store.ts';
import { advance } from './advance.ts';
import { appendEvents } from './append.ts';
import type { CausalClock } from './causal-clock.ts';
import { COMMAND_LIMIT } from './client.ts';
import { type Collections, collectionsOf, PLANTS_CHECKPOINT } from './collections.ts';
import { bytesOf, toLoggedEvent, toPlant, toPlantId, toPlantRow } from './documents.ts';
import { isTransient } from './errors.ts';
import { Leases } from './leases.ts';
import type { Primary } from './primary.ts';
import { ownedBy, readRows } from './rows.ts';
import { MongoSnapshot } from './snapshot.ts';

/** Events read at once. */
const BATCH = 1_000;

/** The log and the read model in a MongoDB replica set. */
export class MongoStore implements Store {
  readonly advanceLimit = 2_000;
  readonly #client: MongoClient;
  readonly #db: Db;
  readonly #collections: Collections;
  readonly #clock: CausalClock;
  readonly #primary: Primary;
  /** The one session that `advance` uses: the leases name it, so that another instance can end what is open in it. */
  readonly #session: ClientSession;
  readonly #leases: Leases;

  /** Takes over a connected client. `db` is a suitable database with a schema; see openMongo. */
  constructor(client: MongoClient, db: Db, clock: CausalClock, primary: Primary) {
    this.#client = client;
    this.#db = db;
    this.#collections = collectionsOf(db);
    this.#clock = clock;
    this.#primary = primary;
    this.#session = client.startSession();
    this.#leases = new Leases(db, this.#collections.leases, clock, this.#session.id!.id);
  }

  head(): Promise<Head> {
    return this.#primary.read(() =>
      this.#clock.read(async (session) => {
        const last = await this.#collections.events.findOne(
          {},
          { session, sort: { _id: -1 }, projection: { hash: 1, time: 1 }, maxTimeMS: COMMAND_LIMIT },
        );
        if (last === null) return EMPTY_HEAD;
        return { position: last._id.toNumber(), hash: bytesOf(last.hash), time: last.time.getTime() };
      }),
    );
  }

  /** Each batch is a query of its own: the server holds nothing in between, however long the reader takes. */
  async *read(after: number): AsyncGenerator<LoggedEvent[]> {
    for (let last = after; ; ) {
      const events = await this.#page(last);
      if (events.length > 0) yield events;
      if (events.length < BATCH) return;
      last = events.at(-1)!.position;
    }
  }

  async #page(after: number): Promise<LoggedEvent[]> {
    const found = await this.#clock.read((session) =>
      this.#collections.events
        .find({ _id: { $gt: Long.fromNumber(after) } }, { session, maxTimeMS: COMMAND_LIMIT })
        .sort({ _id: 1 })
        .limit(BATCH)
        .batchSize(BATCH + 1)
        .toArray(),
    );
    return found.map(toLoggedEvent);
  }

  append(_expected: number, events: readonly LoggedEvent[]): Promise<number> {
    return appendEvents(this.#db, this.#clock, events);
  }

  async checkpoint(): Promise<number> {
    const checkpoint = await this.#clock.read((session) =>
      this.#collections.checkpoints.findOne({ _id: PLANTS_CHECKPOINT }, { session, maxTimeMS: COMMAND_LIMIT }),
    );
    return checkpoint!.position.toNumber();
  }

  async get(keys: readonly PlantKey[]): Promise<Rows<Plant | undefined>> {
    const stages = [{ $match: { _id: { $in: keys.map(toPlantId) } } }];
    const { plants, checkpoint } = await readRows(this.#collections, this.#clock, stages, keys.length);
    const found = new Map(plants.map((plant) => [keyString(plant._id.owner, plant._id.id.toBigInt()), toPlant(plant)]));
    return { rows: keys.map(({ owner, id }) => found.get(keyString(owner, id))), checkpoint };
  }

  async list(owner: string, after: bigint | undefined, limit: number): Promise<Rows<PlantRow>> {
    const stages = [{ $match: ownedBy(owner, after) }, { $sort: { _id: 1 } }, { $limit: limit }];
    const { plants, checkpoint } = await readRows(this.#collections, this.#clock, stages, limit);
    return { rows: plants.map(toPlantRow), checkpoint };
  }

  snapshot(): Promise<Snapshot> {
    return MongoSnapshot.open(this.#db, this.#clock);
  }

  async advance(from: number, to: number, changes: Changes): Promise<boolean> {
    try {
      return await advance(this.#collections, this.#session, from, to, changes);
    } catch (error) {
      // A command that a frozen predecessor had sent may have come in after its transaction was ended, and opened it again.
      if (isTransient(error)) await this.#leases.endPredecessor();
      throw error;
    } finally {
      this.#clock.advance(this.#session.operationTime);
    }
  }

  lease(name: string, holder: string, milliseconds: number): Promise<boolean> {
    return this.#leases.take(name, holder, milliseconds);
  }

  async close(): Promise<void> {
    await this.#session.endSession();
    await this.#client.close();
  }
}
