import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { BSON, MongoClient } from 'mongodb';
import { expect } from 'vitest';
import { FORMATS } from '../../src/audit/formats/formats.ts';
import { verifyLog } from '../../src/audit/verify.ts';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import { openLog } from '../../src/log/log.ts';
import { DATABASE_FILE } from '../../src/log/sqlite/store.ts';
import type { Store } from '../../src/log/store.ts';
import { openCheckpoint } from '../../src/tlog/checkpoint.ts';
import { parseVerifierKey } from '../../src/tlog/verifier-key.ts';
import { override } from '../support/faulty-store.ts';
import { readModel } from '../support/fold.ts';

const FOLDER = join(import.meta.dirname, '../fixtures/1.0.0');

/** A file that 1.0.0 wrote; fixtures/1.0.0/make.js says how. */
export const formerFile = (name: string): Buffer => readFileSync(join(FOLDER, name));

/** What 1.0.0 said of its stores. */
export const FORMER = JSON.parse(formerFile('expected.json').toString()) as {
  readonly exports: Readonly<Record<keyof typeof FORMATS, string>>;
  readonly head: { readonly position: number; readonly hash: string };
  readonly vkey: string;
};

/** A data directory with the embedded store of 1.0.0. */
export function formerDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'plantstore-former-'));
  writeFileSync(join(directory, DATABASE_FILE), gunzipSync(formerFile('plantstore.sqlite.gz')), { mode: 0o600 });
  return directory;
}

type Documents = Record<string, BSON.Document[]>;

/** The documents of the database of 1.0.0, by collection. */
let formerDocuments = (): Documents => {
  const documents: Documents = {};
  for (const line of gunzipSync(formerFile('mongodb.ejson.gz')).toString().trim().split('\n')) {
    const [collection, document] = BSON.EJSON.parse(line, { relaxed: false }) as [string, BSON.Document];
    documents[collection] ??= [];
    documents[collection].push(document);
  }
  formerDocuments = () => documents;
  return documents;
};

/** Loads the database of 1.0.0 into an empty one. */
export async function loadFormer(uri: string): Promise<void> {
  await using client = new MongoClient(uri);
  for (const [collection, documents] of Object.entries(formerDocuments()))
    await client.db().collection(collection).insertMany(documents);
  await client
    .db()
    .collection('events')
    .createIndex(
      { owner: 1, idempotencyKey: 1, _id: -1 },
      { name: 'events_by_idempotency_key', partialFilterExpression: { idempotencyKey: { $exists: true } } },
    );
}

/** The owners whose erasure 1.0.0 had begun: the position of OwnerErased, and what is done. */
const UNFINISHED = [
  ['appended', 423, false, false],
  ['removing', 430, false, false],
  ['removed', 437, false, false],
  ['cleared', 444, true, false],
  ['published', 451, true, true],
  // The upgrade appends these.
  ['noted', 572, false, false],
  ['deleting', 573, false, false],
] as const;

/**
 * Expects the store to be that of 1.0.0 in all that users, auditors and erasures see of it, and each erasure that was
 * only noted to have its event.
 */
export async function expectTakenOver(store: Store): Promise<void> {
  const log: LoggedEvent[] = [];
  for await (const events of store.read(0, { checksKeys: true })) log.push(...events);
  const kept = log.slice(0, FORMER.head.position).map(({ erases: _, ...event }) => event);
  for (const [format, digest] of Object.entries(FORMER.exports) as [keyof typeof FORMATS, string][])
    expect(createHash('sha256').update(FORMATS[format].encode(kept)).digest('hex')).toBe(digest);
  expect(Buffer.from(kept.at(-1)!.hash).toString('hex')).toBe(FORMER.head.hash);
  expect((await store.head()).position).toBe(FORMER.head.position + 2);
  expect(log.slice(FORMER.head.position).map(({ eventId, event }) => [eventId.slice(-1), event])).toEqual([
    ['2', expect.objectContaining({ type: 'OwnerErased', actor: 'the officer', erased: 6 })],
    ['3', expect.objectContaining({ type: 'OwnerErased', actor: 'the officer', erased: 8 })],
  ]);
  expect(await store.checkpoint()).toBe(FORMER.head.position + 2);
  const unfinished = await store.unfinished();
  expect(
    unfinished.map(({ position, erases: { owner, isCleared, isPublished } }) => [
      owner,
      position,
      isCleared,
      isPublished,
    ]),
  ).toEqual(UNFINISHED);
  const keys = ['alice', 'noted', 'removed'].map((owner) => ({
    owner,
    idempotencyKey: owner === 'alice' ? 'key-1' : `key of ${owner}`,
  }));
  expect((await store.findByIdempotencyKeys(keys)).map((event) => event?.position)).toEqual([3, undefined, undefined]);
  const checkpoint = openCheckpoint(formerFile('log.checkpoint').toString(), parseVerifierKey(FORMER.vkey));
  for await (const step of verifyLog(store, { checkpoint }))
    if ('answers' in step) {
      expect(step.answers.filter(({ failure }) => failure !== undefined)).toEqual([]);
      expect(step.ok).toBe(true);
    }
}

/** Expects a service on the store to finish all erasures, in place. */
export async function expectErased(store: Store): Promise<void> {
  const log = await openLog(override(store, { close: async () => {} }), { onFault: () => {} });
  log.finishErasures(() => {});
  await expect.poll(() => store.unfinished(), { timeout: 60_000 }).toEqual([]);
  await log.close();
  const owners = new Set<string>(UNFINISHED.map(([owner]) => owner));
  for await (const events of store.read(0))
    for (const { event } of events) expect(event?.type !== 'OwnerErased' && owners.has(event?.owner ?? '')).toBe(false);
  for (const owner of owners) expect((await readModel(store, owner)).rows).toEqual([]);
  for await (const step of verifyLog(store)) if ('answers' in step) expect(step.ok).toBe(true);
}
