import { type AnyBulkWriteOperation, Binary, type ClientSession, type Collection, type Db, Long } from 'mongodb';
import { BrokenChainError, headAfterIntact, headAt } from '../event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent } from '../event/event.ts';
import type { Kind } from '../event/fields.ts';
import { LONGEST_LEASE, type Store } from '../store.ts';
import {
  erasureAfter,
  FORMER_MEMBERS,
  type FormerErasure,
  type FormerEvent,
  folded,
  type Repair,
  takenOver,
  type UpgradeStep,
  withErases,
} from '../upgrade.ts';
import { type Collections, collectionsOf, PLANTS_CHECKPOINT, SCHEMA_ID } from './collections.ts';
import { COMMAND_LIMIT, WRITE_CONCERN, withCallLimit } from './connection/client.ts';
import { CODE, explain, hasCode, ignoring } from './connection/errors.ts';
import { checkJournal, checkServers, UnsuitableDatabaseError } from './connection/requirements.ts';
import { type EventDocument, toEventDocument, toHead, toLoggedEvent } from './documents.ts';
import { checkSchema, createIndexes, FORMER_VERSION, SCHEMA_VERSION } from './schema.ts';
import { unconnected } from './store.ts';

/** Events of one read and one write. At worst, documents of 9 MiB. */
const BATCH = 512;

/** A document of `events` in either form. The form of 1.0.0 has no member `event`. */
type AnyDocument = EventDocument & FormerEvent;

/** Collections of the rows of rebuilds. */
const REBUILT = /^plants_[1-9][0-9]*$/;

/**
 * Takes over the store of 1.0.0 in the database of a URI, with no instance running. Does nothing to a store of this
 * release. All events are verified before anything is written. Then each is replaced by its new form, in place, and the
 * read model is made from them, by `repair`. May end at any moment, and the next call goes on; several calls at once do
 * each other no harm. From the first write on, 1.0.0 refuses the database. Rejects with UnsuitableDatabaseError when there
 * is nothing to take over, an instance runs, a right is missing, or an event does not verify.
 */
export async function* upgradeMongo(uri: string, repair: Repair): AsyncGenerator<UpgradeStep> {
  const { client, db, store } = unconnected(uri, {});
  try {
    await withCallLimit(client.connect());
    yield* upgraded(db, store, repair);
  } catch (error) {
    throw hasCode(error, CODE.unauthorized) ? mayNot() : explain(error);
  } finally {
    await withCallLimit(client.close()).catch(() => {});
  }
}

async function* upgraded(db: Db, store: () => Store, repair: Repair): AsyncGenerator<UpgradeStep> {
  const collections = collectionsOf(db);
  const { meta } = collections;
  await checkServers(db);
  await checkJournal(db);
  const schema = await withCallLimit(meta.findOne({ _id: SCHEMA_ID }));
  let hasBegun = schema?.isUpgrading === true;
  if (schema?.version !== FORMER_VERSION && !hasBegun) return await checkSchema(db);
  await checkRights(db, collections);
  await checkStopped(collections);
  try {
    if (!hasBegun) yield* walked(collections, 'verified', async () => {});
    await begin(collections);
    hasBegun = true;
    // An instance may have started meanwhile.
    await checkStopped(collections);
    const noted = await notesIn(db);
    yield* written(collections, noted);
    await createIndexes(collections);
    await appendErasures(db, collections, noted);
  } catch (error) {
    throw error instanceof BrokenChainError ? unverified(db, error, hasBegun) : error;
  }
  const isUpgrading = { _id: SCHEMA_ID, isUpgrading: true } as const;
  // Otherwise another call has done it all, and instances may run.
  if ((await withCallLimit(meta.findOne(isUpgrading))) === null) return;
  const taken = store();
  await takeReadModel(db, collections, await taken.head());
  yield* folded(taken, repair);
  await withCallLimit(meta.updateOne(isUpgrading, { $unset: { isUpgrading: true } }));
}

function unverified({ databaseName }: Db, error: BrokenChainError, hasBegun: boolean): Error {
  const [state, todo] = hasBegun
    ? ['a part of it has been written already', 'restore a backup, and run plantstore audit verify of 1.0.0 on it']
    : ['it is as 1.0.0 left it', 'run plantstore audit verify of 1.0.0, and restore a backup'];
  return new UnsuitableDatabaseError(
    `database ${databaseName} cannot be upgraded: ${error.message}; ${state}: ${todo}`,
  );
}

/** Does one write of each kind, which match nothing: a missing right is told before anything is done. */
async function checkRights(db: Db, { events, tree, meta, checkpoints }: Collections): Promise<void> {
  const none = { _id: Long.NEG_ONE };
  await withCallLimit(events.updateOne(none, { $unset: { event: '' } }));
  await withCallLimit(tree.updateOne(none, { $unset: { hash: '' } }));
  await withCallLimit(tree.deleteOne(none));
  await withCallLimit(notesOf(db).deleteOne({ eventId: '' }));
  await withCallLimit(checkpoints.updateOne({ _id: '' }, { $unset: { generation: '' } }));
  await withCallLimit(meta.updateOne({ _id: SCHEMA_ID, version: -1 }, { $unset: { isUpgrading: true } }));
}

/** What the role of docs/mongodb.md lacks. */
const mayNot = () =>
  new UnsuitableDatabaseError(
    'the database user may not upgrade the store: give it the role of docs/mongodb.md and, until the upgrade is done, what that page says of upgrading',
  );

/** Wherever an instance runs, one of them holds the projector's lease. */
async function checkStopped({ leases }: Collections): Promise<void> {
  // One that ends later than anybody may take it for is that of a clock that was wrong.
  const held = leases
    .aggregate<{ _id: string; left: number }>([
      { $project: { left: { $toDouble: { $subtract: ['$until', '$$NOW'] } } } },
      { $match: { left: { $gt: 0, $lte: LONGEST_LEASE } } },
    ])
    .map(({ _id, left }) => `${_id} for ${Math.ceil(left / 1_000)} s more`)
    .toArray();
  const found = await withCallLimit(held);
  if (found.length === 0) return;
  throw new UnsuitableDatabaseError(
    `an instance of the service runs, or was killed just now: it has the lease of ${found.join(', ')}; stop all instances, wait until their leases have ended, and run plantstore upgrade again`,
  );
}

/** From here on 1.0.0 refuses the database, so that no instance of it can meet events of both forms. */
const begin = ({ meta }: Collections) =>
  withCallLimit(
    meta.updateOne(
      { _id: SCHEMA_ID, version: FORMER_VERSION },
      { $set: { version: SCHEMA_VERSION, isUpgrading: true } },
    ),
  );

/**
 * Verifies the events, in either form, and hands them on in batches. Each batch is a query of its own, so that no cursor
 * expires however long the writes take.
 */
async function* walked(
  { events }: Collections,
  what: string,
  take: (documents: readonly AnyDocument[], verified: readonly LoggedEvent[]) => Promise<void>,
): AsyncGenerator<UpgradeStep> {
  const last = await withCallLimit(events.findOne({}, { sort: { _id: -1 }, projection: { _id: 1 } }));
  let head = EMPTY_HEAD;
  for (;;) {
    const after = { _id: { $gt: Long.fromNumber(head.position) } };
    const found = events.find(after, { sort: { _id: 1 }, limit: BATCH, maxTimeMS: COMMAND_LIMIT });
    const documents = (await withCallLimit(found.toArray())) as AnyDocument[];
    if (documents.length === 0) return;
    yield { what, done: head.position, total: Number(last?._id ?? 0) };
    const verified = documents.map((document) => {
      const event = eventOf(document, head);
      head = headAt(event);
      return event;
    });
    await take(documents, verified);
  }
}

/** A document of `erasures`. */
interface NoteDocument {
  /** The owner. */
  readonly _id: string;
  readonly eventId: string;
  readonly actor: string;
  readonly issuer?: string;
  readonly erasedBy?: Long;
  readonly isPublished: boolean;
}

const notesOf = (db: Db): Collection<NoteDocument> => db.collection('erasures');

async function notesIn(db: Db): Promise<readonly FormerErasure[]> {
  const found = await withCallLimit(
    notesOf(db).find({}, { maxTimeMS: COMMAND_LIMIT }).sort({ since: 1, eventId: 1 }).toArray(),
  );
  return found.map(({ _id, eventId, actor, issuer, erasedBy, isPublished }) => ({
    ...{ owner: _id, eventId, actor, issuer, isErased: erasedBy !== undefined, isPublished },
    ...{ position: undefined, events: 0 },
  }));
}

/**
 * Each erasure that 1.0.0 had only noted gets its OwnerErased event, in the transaction that removes its note. So it is
 * done once, whatever other calls do, and the service after them.
 */
async function appendErasures(db: Db, { events }: Collections, noted: readonly FormerErasure[]): Promise<void> {
  const session = db.client.startSession();
  try {
    for (const erasure of noted)
      await session.withTransaction(() => appendErasure(session, notesOf(db), events, erasure), {
        readConcern: { level: 'snapshot' },
        writeConcern: WRITE_CONCERN,
      });
  } finally {
    await session.endSession();
  }
  await ignoring(CODE.namespaceNotFound, withCallLimit(notesOf(db).drop()));
}

async function appendErasure(
  session: ClientSession,
  notes: Collection<NoteDocument>,
  events: Collections['events'],
  erasure: FormerErasure,
): Promise<void> {
  const { deletedCount } = await notes.deleteOne({ eventId: erasure.eventId }, { session });
  if (deletedCount === 0) return;
  if (erasure.position !== undefined || erasure.events === 0) return;
  const last = await events.findOne({}, { sort: { _id: -1 }, session });
  await events.insertOne(toEventDocument(erasureAfter(toHead(last!), erasure)), { session });
}

/** Writes the new form of each event that still has the old one. */
const written = (collections: Collections, noted: readonly FormerErasure[]): AsyncGenerator<UpgradeStep> =>
  walked(collections, 'written', async (documents, verified) => {
    const replaced = verified
      .map((event) => withErases(event, noted))
      .filter((_, index) => documents[index]!.event === undefined)
      .map(replacementBy);
    if (replaced.length > 0) await withCallLimit(collections.events.bulkWrite(replaced, { ordered: false }));
  });

/** Replaces what has the old form, and nothing else: another call may have been faster, and the service run since. */
function replacementBy(event: LoggedEvent): AnyBulkWriteOperation<EventDocument> {
  const { _id, ...replacement } = toEventDocument(event);
  return { replaceOne: { filter: { _id, event: { $exists: false } }, replacement } };
}

/** Whatever rows and nodes there are: the repair makes them those of a checkpoint at the end of the log. */
async function takeReadModel(db: Db, { plants, checkpoints, tree }: Collections, { position }: Head): Promise<void> {
  await ignoring(CODE.namespaceExists, withCallLimit(db.createCollection(plants.collectionName)));
  const former = { _id: PLANTS_CHECKPOINT, rebuilds: { $exists: true } };
  const at = { $set: { position: Long.fromNumber(position), generation: Long.ZERO } };
  const without = { $unset: { collection: '', rebuilds: '', building: '' } };
  await withCallLimit(checkpoints.updateOne(former as object, { ...at, ...without } as object));
  await withCallLimit(tree.deleteMany({ _id: { $type: 'object' } } as object));
  const names = await withCallLimit(db.listCollections({}, { nameOnly: true, authorizedCollections: true }).toArray());
  for (const { name } of names)
    if (REBUILT.test(name)) await ignoring(CODE.namespaceNotFound, withCallLimit(db.dropCollection(name)));
}

function eventOf(document: AnyDocument, head: Head): LoggedEvent {
  if (document.event === undefined) return takenOver(formerOf(document, head), head);
  const event = toLoggedEvent(document);
  headAfterIntact(head, event);
  return event;
}

const KINDS: ReadonlyMap<string, Kind> = new Map(
  FORMER_MEMBERS.map(({ name, kind }) => [name === 'position' ? '_id' : name, kind]),
);

function formerOf(document: AnyDocument, head: Head): FormerEvent {
  const former: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(document)) {
    const kind = KINDS.get(name);
    const member = kind && fromDocument(kind, value);
    if (member === undefined)
      throw new BrokenChainError(head.position + 1, `its member ${name} is none of an event, or has another type`);
    former[name === '_id' ? 'position' : name] = member;
  }
  return former;
}

/** The value of a member. Undefined: it has another type than its kind. */
function fromDocument(kind: Kind, value: unknown): unknown {
  switch (kind) {
    case 'count':
      return Long.isLong(value) ? value.toNumber() : undefined;
    case 'int64':
      return Long.isLong(value) ? value.toBigInt() : undefined;
    case 'time':
      return value instanceof Date ? value.getTime() : undefined;
    case 'bytes':
      return value instanceof Binary && value.sub_type === Binary.SUBTYPE_DEFAULT ? value.value() : undefined;
    case 'text':
      return typeof value === 'string' ? value : undefined;
  }
}
