import { Binary, type Db, Long } from 'mongodb';
import { Backoff } from '../../time/backoff.ts';
import { pause } from '../../time/pause.ts';
import { BrokenChainError, headAfterIntact } from '../event/chain.ts';
import type { Head, LoggedEvent } from '../event/event.ts';
import { LONGEST_LEASE, type Store } from '../store.ts';
import {
  appendErasures,
  type FormerErasure,
  type FormerEvent,
  type FormerLog,
  folded,
  type Repair,
  takenOver,
  type UpgradeStep,
  walked,
} from '../upgrade.ts';
import { CHECKPOINT_ID, type Collections, checkpointIn, collectionsOf } from './collections.ts';
import { COMMAND_LIMIT, invalidUri, withCallLimit } from './connection/client.ts';
import { CODE, explain, hasCode, ignoring, isOfUri, isPassing } from './connection/errors.ts';
import { checkServers, UnsuitableDatabaseError } from './connection/requirements.ts';
import { type EventDocument, toEventDocument, toLoggedEvent } from './documents.ts';
import { mayUpgrade } from './rights.ts';
import { checkSchema, createIndexes, FORMER_VERSION, SCHEMA_VERSION } from './schema.ts';
import { unconnected } from './store.ts';

/** First and longest pause before the next attempt, in milliseconds. */
const PAUSE = 200;
const MAX_PAUSE = 2_000;

/** Events of one read and one write. At worst, documents of 9 MiB. */
const BATCH = 512;

/** A document of `events` in either form. The form of 1.0.0 has no member `event`. */
type AnyDocument = EventDocument & FormerEvent;

/** The collections of the checkpoint, and of the rows of rebuilds. */
const FORMER_READ_MODEL = /^(checkpoints|plants_[1-9][0-9]*)$/;

/**
 * Takes over the store of 1.0.0 in the database of a URI, with no instance running. Does nothing to a store of this
 * release. All events are verified before anything is written. Then each is replaced by its new form, in place, and the
 * read model is made from them, by `repair`. May end at any moment, and the next call goes on; several calls at once do
 * each other no harm. So where MongoDB does not answer, or the primary is gone, it begins again after a call of
 * `onWait`, however long that lasts. From the first write on, 1.0.0 refuses the database. Rejects with
 * UnsuitableDatabaseError when there is nothing to take over, an instance runs, a right is missing, an event does not
 * verify, or the URI can never be used.
 */
export async function* upgradeMongo(
  uri: string,
  repair: Repair,
  onWait: (fault: string) => void = () => {},
): AsyncGenerator<UpgradeStep> {
  const { client, db, store } = unconnected(uri, {});
  const attempt = { isAlone: false };
  let taken: Store | undefined;
  try {
    for (const backoff = new Backoff(PAUSE, MAX_PAUSE); ; await pause(backoff.next()))
      try {
        await withCallLimit(client.connect());
        taken ??= store();
        return yield* upgraded(db, taken, repair, attempt);
      } catch (error) {
        if (isOfUri(error)) throw invalidUri(error);
        if (!isPassing(error)) throw error;
        onWait((explain(error) as Error).message);
      }
  } catch (error) {
    throw hasCode(error, CODE.unauthorized) ? mayNot() : explain(error);
  } finally {
    await withCallLimit(client.close()).catch(() => {});
  }
}

/**
 * One attempt. `isAlone`: an earlier one has found that no instance runs since 1.0.0 refuses the database. A lease may
 * then be that of its own repair.
 */
async function* upgraded(
  db: Db,
  store: Store,
  repair: Repair,
  attempt: { isAlone: boolean },
): AsyncGenerator<UpgradeStep> {
  const collections = collectionsOf(db);
  const { meta } = collections;
  await checkServers(db);
  const schema = await withCallLimit(meta.findOne({ _id: 'schema' }));
  let hasBegun = schema?.isUpgrading === true;
  if (schema?.version !== FORMER_VERSION && !hasBegun) return await checkSchema(db);
  // A missing right is told before anything is done.
  if (!(await mayUpgrade(db))) throw mayNot();
  if (!attempt.isAlone) await checkStopped(collections);
  const isUpgrading = { _id: 'schema', isUpgrading: true } as const;
  try {
    const log = await logIn(collections);
    if (!hasBegun) yield* walked(log, [], 'verified', async () => {});
    // From here on 1.0.0 refuses the database, so that no instance of it can meet events of both forms.
    const begun = { $set: { version: SCHEMA_VERSION, isUpgrading: true } } as const;
    await withCallLimit(meta.updateOne({ _id: 'schema', version: FORMER_VERSION }, begun));
    hasBegun = true;
    // An instance may have started meanwhile.
    if (!attempt.isAlone) await checkStopped(collections);
    attempt.isAlone = true;
    const noted = await notesIn(db);
    const end = yield* walked(log, noted, 'written', (events) => write(collections, events));
    // Otherwise another call has done it all, and instances may run.
    if ((await withCallLimit(meta.findOne(isUpgrading))) === null) return;
    await appendErasures(store, end, noted);
  } catch (error) {
    throw error instanceof BrokenChainError ? unverified(db, error, hasBegun) : error;
  }
  await ignoring(CODE.namespaceNotFound, withCallLimit(db.dropCollection(NOTES)));
  await createIndexes(collections);
  await takeReadModel(db, collections, await store.head());
  yield* folded(store, repair);
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

/**
 * The log, whose events have either form. Each batch is a query of its own: no cursor expires, however long writes
 * take.
 */
async function logIn({ events }: Collections): Promise<FormerLog<AnyDocument>> {
  const options = { sort: { _id: 1 }, limit: BATCH, maxTimeMS: COMMAND_LIMIT } as const;
  const last = await withCallLimit(events.findOne({}, { sort: { _id: -1 }, projection: { _id: 1 } }));
  const find = (after: number) => events.find({ _id: { $gt: Long.fromNumber(after) } }, options).toArray();
  const read = (after: number) => withCallLimit(find(after)) as Promise<AnyDocument[]>;
  return { total: Number(last?._id ?? 0), read, eventOf };
}

const NOTES = 'erasures';

interface NoteDocument {
  readonly _id: string;
  readonly eventId: string;
  readonly actor: string;
  readonly issuer?: string;
  readonly erasedBy?: Long;
  readonly isPublished: boolean;
}

async function notesIn(db: Db): Promise<readonly FormerErasure[]> {
  const notes = db.collection<NoteDocument>(NOTES).find({}, { maxTimeMS: COMMAND_LIMIT });
  const found = await withCallLimit(notes.sort({ since: 1, eventId: 1 }).toArray());
  return found.map(({ _id, eventId, actor, issuer, erasedBy, isPublished }) => ({
    ...{ owner: _id, eventId, actor, issuer, isErased: erasedBy !== undefined, isPublished },
    ...{ position: undefined, events: 0 },
  }));
}

/** Replaces what has the old form, and nothing else: another call may have been faster, and the service run since. */
async function write({ events }: Collections, verified: readonly LoggedEvent[]): Promise<void> {
  const replaced = verified.map(toEventDocument).map(({ _id, ...replacement }) => ({
    replaceOne: { filter: { _id, event: { $exists: false } }, replacement },
  }));
  await withCallLimit(events.bulkWrite(replaced, { ordered: false }));
}

/** Whatever rows and nodes there are: the repair makes them those of a checkpoint at the end of the log. */
async function takeReadModel(db: Db, collections: Collections, { position }: Head): Promise<void> {
  const { plants, tree } = collections;
  await ignoring(CODE.namespaceExists, withCallLimit(db.createCollection(plants.collectionName)));
  const checkpoint = { position: Long.fromNumber(position), generation: Long.ZERO };
  const update = { $setOnInsert: checkpoint };
  await withCallLimit(checkpointIn(collections).updateOne({ _id: CHECKPOINT_ID }, update, { upsert: true }));
  await withCallLimit(tree.deleteMany({ _id: { $type: 'object' } } as object));
  const names = await withCallLimit(db.listCollections({}, { nameOnly: true, authorizedCollections: true }).toArray());
  for (const { name } of names)
    if (FORMER_READ_MODEL.test(name)) await ignoring(CODE.namespaceNotFound, withCallLimit(db.dropCollection(name)));
}

function eventOf(document: AnyDocument, head: Head): LoggedEvent {
  if (document.event === undefined) return takenOver(formerOf(document), head);
  const event = toLoggedEvent(document);
  headAfterIntact(head, event);
  return event;
}

const formerOf = (document: AnyDocument): FormerEvent =>
  Object.fromEntries(
    Object.entries(document).map(([name, value]) => [name === '_id' ? 'position' : name, memberOf(value)]),
  );

function memberOf(value: unknown): unknown {
  if (Long.isLong(value)) return value.toBigInt();
  if (value instanceof Date) return BigInt(value.getTime());
  return value instanceof Binary && value.sub_type === Binary.SUBTYPE_DEFAULT ? value.value() : value;
}
