import { type AnyBulkWriteOperation, Binary, type ClientSession, type Collection, type Db, Long } from 'mongodb';
import { TILE_WIDTH } from '../../tlog/tile.ts';
import { BrokenChainError, headAt, verifyContent, verifyNext } from '../event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent, plantEventOf } from '../event/event.ts';
import type { Kind } from '../event/fields.ts';
import { LONGEST_LEASE } from '../store.ts';
import { NodeBuilder, nodesOf } from '../tree/nodes.ts';
import {
  erasesOf,
  erasureAfter,
  FORMER_MEMBERS,
  type FormerErasure,
  type FormerEvent,
  takenOver,
  type UpgradeStep,
} from '../upgrade.ts';
import { type Collections, collectionsOf, PLANTS_CHECKPOINT, SCHEMA_ID, type TreeNodeDocument } from './collections.ts';
import { COMMAND_LIMIT, createClient, databaseOf, WRITE_CONCERN, withCallLimit } from './connection/client.ts';
import { CODE, explain, hasCode, ignoring } from './connection/errors.ts';
import { checkJournal, checkServers, UnsuitableDatabaseError } from './connection/requirements.ts';
import { type EventDocument, toErasesDocument, toEventDocument, toHead, toLoggedEvent } from './documents.ts';
import { checkSchema, createIndexes, FORMER_VERSION, SCHEMA_VERSION } from './schema.ts';

/** Events of one read and one write, whole tiles of them. At worst, documents of 9 MiB. */
const BATCH = 2 * TILE_WIDTH;

/** A document of `events` in either form. The form of 1.0.0 has no member `event`. */
type AnyDocument = EventDocument & FormerEvent;

/** The checkpoint of 1.0.0. It lacks `position` and `collection` if it was lost. */
interface FormerCheckpoint {
  readonly _id: string;
  readonly position?: Long;
  /** Name of the collection with the rows: `plants`, or that of the last rebuild. */
  readonly collection?: string;
  /** The number of rebuilds that were ever started. */
  readonly rebuilds: number;
  /** Name of the collection of an unfinished rebuild. */
  readonly building?: string;
}

/** Collections of rebuilds, of rows that are read or were left. */
const REBUILT = /^plants_[1-9][0-9]*$/;

/**
 * Takes over the store of 1.0.0 in the database of a URI, with no instance running. Does nothing to a store of this
 * release. All events are verified before anything is written. Then each is replaced by its new form, in place. May end
 * at any moment, and the next call goes on; several calls at once do each other no harm. From the first write on, 1.0.0
 * refuses the database. Rejects with UnsuitableDatabaseError when there is nothing to take over, an instance runs, a right
 * is missing, or an event does not verify.
 */
export async function* upgradeMongo(uri: string): AsyncGenerator<UpgradeStep> {
  const client = createClient(uri);
  try {
    await withCallLimit(client.connect());
    yield* upgraded(databaseOf(client, uri));
  } catch (error) {
    throw hasCode(error, CODE.unauthorized) ? mayNot() : explain(error);
  } finally {
    await withCallLimit(client.close()).catch(() => {});
  }
}

async function* upgraded(db: Db): AsyncGenerator<UpgradeStep> {
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
    const verified = yield* verifiedAfter(EMPTY_HEAD, collections);
    await checkStopped(collections);
    await begin(collections);
    hasBegun = true;
    // An instance may have started meanwhile, and have appended.
    await checkStopped(collections);
    yield* verifiedAfter(verified, collections);
    const noted = await notesIn(db);
    yield* written(collections, noted);
    await createIndexes(collections);
    await takeErasures(db, collections, noted);
    await takeRows(db, collections);
  } catch (error) {
    throw error instanceof BrokenChainError ? unverified(db, error, hasBegun) : error;
  }
  await withCallLimit(meta.updateOne({ _id: SCHEMA_ID, isUpgrading: true }, { $unset: { isUpgrading: true } }));
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

/** Verifies the events after a head, in either form, and returns the log's end. */
async function* verifiedAfter(after: Head, { events }: Collections): AsyncGenerator<UpgradeStep, Head> {
  const total = await lastOf(events);
  let head = after;
  for await (const documents of batches(events, after)) {
    yield { what: 'verified', done: head.position, total };
    for (const document of documents) head = headAt(eventOf(document, head));
  }
  return head;
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

function note(noted: readonly FormerErasure[], event: LoggedEvent): void {
  const owner = plantEventOf(event)?.owner;
  for (const each of noted)
    if (each.eventId === event.eventId) each.position = event.position;
    else if (each.owner === owner) each.events++;
}

/**
 * Each erasure that 1.0.0 had begun stands beside its OwnerErased event, which is appended if it is not there, in the
 * transaction that removes its note. So it is done once, whatever other calls do, and the service after them.
 */
async function takeErasures(db: Db, { events }: Collections, noted: readonly FormerErasure[]): Promise<void> {
  const session = db.client.startSession();
  try {
    for (const erasure of noted)
      await session.withTransaction(() => takeErasure(session, notesOf(db), events, erasure), {
        readConcern: { level: 'snapshot' },
        writeConcern: WRITE_CONCERN,
      });
  } finally {
    await session.endSession();
  }
  await ignoring(CODE.namespaceNotFound, withCallLimit(notesOf(db).drop()));
}

async function takeErasure(
  session: ClientSession,
  notes: Collection<NoteDocument>,
  events: Collections['events'],
  erasure: FormerErasure,
): Promise<void> {
  const { deletedCount } = await notes.deleteOne({ eventId: erasure.eventId }, { session });
  if (deletedCount === 0) return;
  if (erasure.position !== undefined) {
    const erases = toErasesDocument(erasesOf(erasure));
    await events.updateOne({ _id: Long.fromNumber(erasure.position) }, { $set: { erases } }, { session });
  } else if (erasure.events > 0) {
    const last = await events.findOne({}, { sort: { _id: -1 }, session });
    await events.insertOne(toEventDocument(erasureAfter(toHead(last!), erasure)), { session });
  }
}

/**
 * Writes the new form of each event that still has the old one, and the tree up to the read model's checkpoint. Says in
 * the notes what the log has of them.
 */
async function* written(
  { events, tree, checkpoints }: Collections,
  noted: readonly FormerErasure[],
): AsyncGenerator<UpgradeStep> {
  const total = await lastOf(events);
  const checkpoint = await withCallLimit(checkpoints.findOne({ _id: PLANTS_CHECKPOINT }));
  const nodes = nodesOf(Number(checkpoint?.position ?? 0));
  const builder = new NodeBuilder();
  let head = EMPTY_HEAD;
  for await (const documents of batches(events, EMPTY_HEAD)) {
    yield { what: 'written', done: head.position, total };
    const verified = documents.map((document) => {
      const event = eventOf(document, head);
      head = headAt(event);
      note(noted, event);
      return event;
    });
    await write(events, verified.filter((_, index) => documents[index]!.event === undefined).map(replacementBy));
    const { first, hashes } = builder.add(verified);
    await write(
      tree,
      hashes.slice(0, Math.max(0, nodes - first)).map((hash, at) => insertionOf(first + at, hash)),
    );
  }
  // Those of 1.0.0.
  await withCallLimit(tree.deleteMany({ _id: { $type: 'object' } } as object));
}

/** Replaces what has the old form, and nothing else: another call may have been faster, and the service run since. */
function replacementBy(event: LoggedEvent): AnyBulkWriteOperation<EventDocument> {
  const { _id, ...replacement } = toEventDocument(event);
  return { replaceOne: { filter: { _id, event: { $exists: false } }, replacement } };
}

const insertionOf = (node: number, hash: Uint8Array): AnyBulkWriteOperation<TreeNodeDocument> => ({
  updateOne: {
    filter: { _id: Long.fromNumber(node) },
    update: { $set: { hash: new Binary(hash) } },
    upsert: true,
  },
});

async function write<T extends { _id: Long }>(to: Collection<T>, work: AnyBulkWriteOperation<T>[]): Promise<void> {
  // Two calls may insert the same node.
  if (work.length > 0) await ignoring(CODE.duplicateKey, withCallLimit(to.bulkWrite(work, { ordered: false })));
}

/** The rows get the name, and their checkpoint the form, of a store of this release. What rebuilds have left goes. */
async function takeRows(db: Db, { plants, checkpoints }: Collections): Promise<void> {
  const former = checkpoints as unknown as Collection<FormerCheckpoint>;
  const name = plants.collectionName;
  const found = await withCallLimit(former.findOne({ _id: PLANTS_CHECKPOINT, rebuilds: { $exists: true } }));
  const { collection = name, position, rebuilds } = found ?? {};
  // An earlier call may have done it.
  if (REBUILT.test(collection))
    await ignoring(CODE.namespaceNotFound, withCallLimit(db.renameCollection(collection, name, { dropTarget: true })));
  await ignoring(CODE.namespaceExists, withCallLimit(db.createCollection(name)));
  if (found !== null && position === undefined) await withCallLimit(former.deleteOne(found));
  else if (found !== null)
    await withCallLimit(
      former.updateOne(found, {
        $set: { generation: Long.fromNumber(rebuilds!) },
        $unset: { collection: '', rebuilds: '', building: '' },
      } as object),
    );
  const names = await withCallLimit(db.listCollections({}, { nameOnly: true, authorizedCollections: true }).toArray());
  for (const { name: left } of names)
    if (REBUILT.test(left)) await ignoring(CODE.namespaceNotFound, withCallLimit(db.dropCollection(left)));
}

async function lastOf(events: Collections['events']): Promise<number> {
  const last = await withCallLimit(events.findOne({}, { sort: { _id: -1 }, projection: { _id: 1 } }));
  return Number(last?._id ?? 0);
}

/** Each batch is a query of its own, so that no cursor expires however long the writes take. */
async function* batches(events: Collections['events'], { position }: Head): AsyncGenerator<AnyDocument[]> {
  for (let after = Long.fromNumber(position); ; ) {
    const found = events.find({ _id: { $gt: after } }, { sort: { _id: 1 }, limit: BATCH, maxTimeMS: COMMAND_LIMIT });
    const documents = (await withCallLimit(found.toArray())) as AnyDocument[];
    if (documents.length === 0) return;
    yield documents;
    after = documents.at(-1)!._id;
  }
}

function eventOf(document: AnyDocument, head: Head): LoggedEvent {
  if (document.event === undefined) return takenOver(formerOf(document, head), head);
  const event = toLoggedEvent(document);
  verifyNext(head, event);
  verifyContent(event);
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
