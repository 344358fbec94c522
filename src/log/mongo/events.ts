import { type Collection, type Db, type Filter, Long } from 'mongodb';
import { type IdempotencyKey, idempotencyString } from '../../domain/idempotency.ts';
import { headAt } from '../event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent, plantEventOf } from '../event/event.ts';
import type { Selection } from '../store.ts';
import { batches, MOST_BYTES, type Page } from './batches.ts';
import { collectionsOf } from './collections.ts';
import type { CausalClock } from './connection/causal-clock.ts';
import { BSON, COMMAND_LIMIT } from './connection/client.ts';
import { retried } from './connection/errors.ts';
import type { Primary } from './connection/primary.ts';
import { type EventDocument, toLoggedEvent } from './documents.ts';
import { slices } from './slices.ts';

/** Positions of one query in search of an owner's or a plant's events. */
const SEARCHED = 5_000;

/**
 * Most events of a read that are read without a look at their size. The longest have some 17 KiB: owner, actor, name and
 * tag of 4 KiB each. Who keeps up with the log, or reads one event, seldom needs more.
 */
const FEW = 16;

/**
 * Most owners in one branch of a look-up, each combined with as many idempotency keys. Each branch costs the server a
 * plan: one branch for each key takes five times as long. The limit also bounds the surplus results of a branch when
 * owners share keys.
 */
const NAMED_LIMIT = 16;

/** Reads the log. Its results are majority-committed and no older than the clock. */
export class EventReader {
  readonly #db: Db;
  readonly #events: Collection<EventDocument>;
  readonly #clock: CausalClock;
  readonly #primary: Primary;

  constructor(db: Db, clock: CausalClock, primary: Primary) {
    this.#db = db;
    this.#events = collectionsOf(db).events;
    this.#clock = clock;
    this.#primary = primary;
  }

  /** See Store.head. */
  head(): Promise<Head> {
    return this.#primary.read(() => this.#known());
  }

  /**
   * The log's end as far as the primary knows. Every list waits for it. So it is a plain command without a cursor of
   * the driver, which would cost the service a third more.
   */
  #known(): Promise<Head> {
    return retried(() =>
      this.#clock.run(async (session) => {
        const { cursor } = await this.#db.command(
          {
            find: this.#events.collectionName,
            // Excludes documents whose position is not a number.
            filter: { _id: { $gt: Long.MIN_VALUE } },
            sort: { _id: -1 },
            limit: 1,
            singleBatch: true,
            readConcern: { level: 'majority' },
            maxTimeMS: COMMAND_LIMIT,
          },
          { session, ...BSON },
        );
        const [last] = cursor.firstBatch as EventDocument[];
        return last === undefined ? EMPTY_HEAD : headAt(toLoggedEvent(last));
      }),
    );
  }

  /** See Store.read. */
  read(after: number, { to, owner, id }: Selection): AsyncIterable<LoggedEvent[]> {
    const about: Filter<EventDocument> = {
      ...(owner !== undefined && { owner }),
      ...(id !== undefined && { plantId: Long.fromBigInt(id) }),
    };
    if (owner !== undefined || id !== undefined) return this.#search(after, to, about);
    return batches<LoggedEvent>((last, limit) => this.#page(last?.position ?? after, to, about, limit), FEW);
  }

  /** See Store.findByIdempotencyKeys. */
  async findByIdempotencyKeys(keys: readonly IdempotencyKey[]): Promise<(LoggedEvent | undefined)[]> {
    const asked = [...slices(keys, NAMED_LIMIT)].map((some) => ({
      owner: { $in: some.map(({ owner }) => owner) },
      idempotencyKey: { $in: some.map(({ idempotencyKey }) => idempotencyKey) },
    }));
    const found = await this.#clock.run((session) =>
      this.#events
        .aggregate<{ last: EventDocument }>(
          [{ $match: { $or: asked } }, { $group: { _id: { owner: '$owner', key: '$idempotencyKey' }, last: LAST } }],
          { session, batchSize: keys.length + 1, maxTimeMS: COMMAND_LIMIT },
        )
        .toArray(),
    );
    const events = found.map(({ last }) => toLoggedEvent(last));
    const byKey = new Map(events.map((event) => [idempotencyString(plantEventOf(event)!), event]));
    return keys.map((key) => byKey.get(idempotencyString(key)));
  }

  /** Searches a fixed number of positions at a time, however few events match, so that no query takes long. */
  async *#search(after: number, to: number | undefined, about: Filter<EventDocument>): AsyncGenerator<LoggedEvent[]> {
    const { position } = await this.head();
    const end = Math.min(position, to ?? position);
    for (let from = after; from < end; from += SEARCHED) {
      const last = Math.min(from + SEARCHED, end);
      yield* batches<LoggedEvent>((before, limit) => this.#page(before?.position ?? from, last, about, limit));
    }
  }

  /**
   * The first matching events after a position: at most `limit`. If these have more than MOST_BYTES, only as many as
   * would fit if all were as large as the largest. Any number of auditors may read at once, a thousand of the longest
   * events have 17 MiB, and the heap that an instance is given has 320.
   */
  async #page(
    after: number,
    to: number | undefined,
    about: Filter<EventDocument>,
    limit: number,
  ): Promise<Page<LoggedEvent>> {
    if (limit <= FEW) return this.#find(after, to, about, limit);
    const { count, bytes, largest } = await this.#measure(after, to, about, limit);
    const fitting = bytes <= MOST_BYTES ? count : Math.max(1, Math.floor(MOST_BYTES / largest));
    const { items } = count === 0 ? { items: [] } : await this.#find(after, to, about, fitting);
    return { items, whole: items.length === 0 || (count < limit && items.length >= count) };
  }

  /**
   * How many events a find would find, and their size. A look of its own costs the server less than a pipeline that
   * collects the events, and is as good for events beyond any bound, which somebody may have written by hand.
   */
  async #measure(
    after: number,
    to: number | undefined,
    about: Filter<EventDocument>,
    limit: number,
  ): Promise<{ readonly count: number; readonly bytes: number; readonly largest: number }> {
    const aggregate = {
      aggregate: this.#events.collectionName,
      pipeline: [
        { $match: { _id: between(after, to), ...about } },
        { $sort: { _id: 1 } },
        { $limit: limit },
        { $project: { size: { $bsonSize: '$$ROOT' } } },
        { $group: { _id: null, count: { $sum: 1 }, bytes: { $sum: '$size' }, largest: { $max: '$size' } } },
      ],
      cursor: {},
      readConcern: { level: 'majority' },
      maxTimeMS: COMMAND_LIMIT,
    };
    const { cursor } = await retried(() => this.#clock.run((session) => this.#db.command(aggregate, { session })));
    return cursor.firstBatch[0] ?? { count: 0, bytes: 0, largest: 0 };
  }

  /**
   * The first matching events after a position, or the first of them that a reply of 16 MiB holds. A plain command, whose reply is decoded as a whole: the driver's cursor
   * decodes documents one by one and costs half as much again.
   */
  async #find(
    after: number,
    to: number | undefined,
    about: Filter<EventDocument>,
    limit: number,
  ): Promise<Page<LoggedEvent>> {
    const find = {
      find: this.#events.collectionName,
      filter: { _id: between(after, to), ...about },
      sort: { _id: 1 },
      limit,
      // One more than there can be, so that the server closes the cursor with the first reply.
      batchSize: limit + 1,
      readConcern: { level: 'majority' },
      maxTimeMS: COMMAND_LIMIT,
    };
    const { cursor } = await retried(() => this.#clock.run((session) => this.#db.command(find, { session, ...BSON })));
    const found = (cursor.firstBatch as EventDocument[]).map(toLoggedEvent);
    if (!cursor.id.isZero())
      await this.#clock.run((session) =>
        this.#db.command({ killCursors: this.#events.collectionName, cursors: [cursor.id] }, { session }),
      );
    return { items: found, whole: cursor.id.isZero() && found.length < limit };
  }
}

/** The document of the highest position in a group. */
const LAST = { $top: { sortBy: { _id: -1 }, output: '$$ROOT' } };

const between = (after: number, to: number | undefined) => ({
  // No int64 is below all of them.
  $gt: Number.isFinite(after) ? Long.fromNumber(after) : after,
  ...(to !== undefined && { $lte: Long.fromNumber(to) }),
});
