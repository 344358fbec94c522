import { type Db, type Document, type Filter, Long } from 'mongodb';
import { idempotencyString } from '../../domain/idempotency.ts';
import { batches, type Page, searched, slices } from '../batches.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent, plantEventOf } from '../event/event.ts';
import { RefusedAppendError, type Store } from '../store.ts';
import type { CausalClock } from './connection/causal-clock.ts';
import { BSON, COMMAND_LIMIT, WRITE_CONCERN, withCallLimit } from './connection/client.ts';
import { CODE, hasCode, retried } from './connection/errors.ts';
import type { Primary } from './connection/primary.ts';
import { type EventDocument, toEventDocument, toEvents, toHead, WITHOUT_KEYS } from './documents.ts';

/** Positions of one query in search of an owner's or a plant's events. */
const SEARCHED = 5_000;

/**
 * Most events of one read: more than a full tile and the event before and after it, so that the first read of these
 * shows that none follow. The longest have some 17 KiB: owner, actor, name and tag of 4 KiB each. So a read has 4.5 MiB
 * at most, and many auditors may read at once. Reads of 1,000 are no faster.
 */
const BATCH = 260;

/**
 * Most owners in one branch of a look-up, each combined with as many idempotency keys. A branch for each key takes five
 * times as long; the limit also bounds what is found in vain when owners share keys.
 */
const NAMED_LIMIT = 16;

/** The log. What is read is majority-committed and no older than the clock. */
export function mongoEvents(
  db: Db,
  clock: CausalClock,
  primary: Primary,
): Pick<Store, 'head' | 'append' | 'read' | 'findByIdempotencyKeys'> {
  const head = () => primary.read(() => knownHead(db, clock));

  const read: Store['read'] = (after, { to, owner, id, erasures, checksKeys = false, signal } = {}) => {
    const about: Filter<EventDocument> = {
      ...(owner !== undefined && (erasures ? { $or: [{ owner }, ERASURE] } : { owner })),
      ...(id !== undefined && { plantId: Long.fromBigInt(id) }),
    };
    const found = (from: number, end: number | undefined) =>
      batches<LoggedEvent>(
        (last, limit) => find(db, clock, { _id: between(last?.position ?? from, end), ...about }, limit, checksKeys),
        { most: BATCH, signal },
      );
    return owner === undefined && id === undefined ? found(after, to) : searched({ head }, after, to, SEARCHED, found);
  };

  const findByIdempotencyKeys: Store['findByIdempotencyKeys'] = async (keys) => {
    const asked = [...slices(keys, NAMED_LIMIT)].map((some) => ({
      owner: { $in: some.map(({ owner }) => owner) },
      idempotencyKey: { $in: some.map(({ idempotencyKey }) => idempotencyKey) },
    }));
    // Those who are being erased too, as of the same instant: their earlier events may still have their contents.
    const erased = { 'erases.owner': { $in: [...new Set(keys.map(({ owner }) => owner))] } };
    const aggregate = {
      aggregate: 'events',
      pipeline: [
        { $match: { $or: [...asked, erased] } },
        { $group: { _id: { owner: '$owner', key: '$idempotencyKey', erases: '$erases.owner' }, last: LAST } },
      ],
      cursor: { batchSize: 2 * keys.length + 1 },
      readConcern: { level: 'snapshot' },
      maxTimeMS: COMMAND_LIMIT,
    };
    const found = await retried(() => clock.readSnapshot<{ last: EventDocument }>(db, aggregate, BSON));
    const events = toEvents(found.rows.map(({ last }) => last));
    const ends = new Map(events.flatMap(({ erases, position }) => (erases ? [[erases.owner, position]] : [])));
    const byKey = new Map<string | undefined, LoggedEvent>();
    for (const event of events) {
      const key = plantEventOf(event);
      if (key !== undefined && event.position > (ends.get(key.owner) ?? 0)) byKey.set(idempotencyString(key), event);
    }
    return keys.map((key) => byKey.get(idempotencyString(key)));
  };

  return { head, append: (events) => appendEvents(db, clock, events), read, findByIdempotencyKeys };
}

/**
 * The reply to a find of events. A plain command: the driver's cursor, which decodes one by one, costs half as much
 * again, and a third more where it is the log's end alone, for which every list waits.
 */
const findEvents = (db: Db, clock: CausalClock, find: Document): Promise<Document> => {
  const command = { find: 'events', ...find, readConcern: { level: 'majority' }, maxTimeMS: COMMAND_LIMIT };
  return retried(() => clock.run((session) => db.command(command, { session, ...BSON })));
};

/** The log's end as the primary knows it. */
async function knownHead(db: Db, clock: CausalClock): Promise<Head> {
  const { cursor } = await findEvents(db, clock, {
    // Excludes documents whose position is not a number.
    filter: { _id: { $gt: Long.MIN_VALUE } },
    sort: { _id: -1 },
    projection: { event: 1, hash: 1 },
    limit: 1,
    singleBatch: true,
  });
  const [last] = cursor.firstBatch as EventDocument[];
  return last === undefined ? EMPTY_HEAD : toHead(last);
}

/** The first events that a filter selects, as many as a reply holds. */
async function find(
  db: Db,
  clock: CausalClock,
  filter: Document,
  limit: number,
  checksKeys: boolean,
): Promise<Page<LoggedEvent>> {
  const { cursor } = await findEvents(db, clock, {
    filter,
    ...(!checksKeys && { projection: WITHOUT_KEYS }),
    sort: { _id: 1 },
    limit,
    // One more than there can be, so that the server closes the cursor with the first reply.
    batchSize: limit + 1,
  });
  const rows = toEvents(cursor.firstBatch as EventDocument[], checksKeys);
  if (cursor.id.isZero()) return { rows, whole: rows.length < limit };
  // A reply holds at most 16 MiB.
  await clock.run((session) => db.command({ killCursors: 'events', cursors: [cursor.id] }, { session }));
  return { rows, whole: false };
}

/** Selects OwnerErased events: no others have a content and no owner. */
const ERASURE = { owner: { $exists: false }, content: { $exists: true } };

/** The document of the highest position in a group. */
const LAST = { $top: { sortBy: { _id: -1 }, output: '$$ROOT' } };

const between = (after: number, to: number | undefined) => ({
  // No int64 is below all of them.
  $gt: Number.isFinite(after) ? Long.fromNumber(after) : after,
  ...(to !== undefined && { $lte: Long.fromNumber(to) }),
});

/** Events in one insert, of at most 16 MiB. An event has two texts of 4 KiB, two names from a token and a key. */
const INSERT_LIMIT = 256;

/** The part of the insert command's response that is used here. */
interface Inserted extends Document {
  readonly n: number;
  readonly writeErrors?: readonly WriteError[];
}

interface WriteError {
  readonly code: number;
  /** The keys of the index that has a duplicate. */
  readonly keyPattern?: Document;
}

/**
 * Appends by ordered inserts outside any transaction. `_id` is the position, so the first insert of a position wins it.
 * An ordered insert stops at the first event that is not inserted, so the inserted events form a prefix.
 *
 * It uses the plain command instead of insertMany: a single response says how many events were inserted and what
 * stopped the insert. The driver rejects any response, success or duplicate, for which the server saw no majority in
 * time. So both the counted events and the event in the way are durable.
 */
async function appendEvents(db: Db, clock: CausalClock, events: readonly LoggedEvent[]): Promise<number> {
  let appended = 0;
  for (const slice of slices(events, INSERT_LIMIT)) {
    const insert = {
      insert: 'events',
      ordered: true,
      documents: slice.map(toEventDocument),
      writeConcern: { w: WRITE_CONCERN.w, j: WRITE_CONCERN.journal, wtimeout: WRITE_CONCERN.wtimeoutMS },
    };
    const answer = (await withCallLimit(db.command(insert, BSON)).catch((error) => {
      throw appended === 0 && hasCode(error, CODE.unauthorized) ? mayNotAppend(error) : error;
    })) as Inserted;
    const [refused] = answer.writeErrors ?? [];
    const reason = refused && whyRefused(refused);
    if (reason !== undefined && appended + answer.n === 0) throw refusedBy(reason);
    if (reason === undefined && refused !== undefined && refused.code !== CODE.duplicateKey)
      throw new Error(`an append was interrupted: MongoDB error ${refused!.code}`);
    clock.advance(answer.operationTime);
    appended += answer.n;
    if (answer.n < slice.length) break;
  }
  return appended;
}

/** What of the database's administrator refuses an event. Undefined: its position is taken, or another fault. */
function whyRefused({ code, keyPattern }: WriteError): string | undefined {
  if (code === CODE.documentValidation) return 'a validator';
  return keyPattern === undefined || '_id' in keyPattern ? undefined : 'a unique index';
}

const refusedBy = (what: string) => new RefusedAppendError(`${what} on the collection events refuses the event`);

/** The server checks the right before it does anything. */
const mayNotAppend = (cause: unknown) =>
  new RefusedAppendError('the database user of the service may not insert events', { cause });
