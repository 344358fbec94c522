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
import { DATABASE_FILE } from '../../src/log/sqlite/store.ts';
import type { Store } from '../../src/log/store.ts';
import { openCheckpoint } from '../../src/transparency/signed-checkpoint.ts';

const FOLDER = join(import.meta.dirname, '../fixtures/1.0.0');

/** A file that 1.0.0 wrote; fixtures/1.0.0/make.js says how. */
export const formerFile = (name: string): Buffer => readFileSync(join(FOLDER, name));

/** What 1.0.0 said of its stores. */
export const FORMER = JSON.parse(formerFile('expected.json').toString()) as {
  readonly exports: Readonly<Record<keyof typeof FORMATS, string>>;
  readonly head: { readonly position: number; readonly hash: string };
  readonly checkpoint: number;
  readonly erasures: readonly object[];
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
function formerDocuments(): Documents {
  const documents: Documents = {};
  for (const line of gunzipSync(formerFile('mongodb.ejson.gz')).toString().trim().split('\n')) {
    const [collection, document] = BSON.EJSON.parse(line, { relaxed: false }) as [string, BSON.Document];
    documents[collection] ??= [];
    documents[collection].push(document);
  }
  return documents;
}

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

/** Expects the store to be that of 1.0.0 in all that users, auditors and erasures see of it. */
export async function expectTakenOver(store: Store): Promise<void> {
  const log: LoggedEvent[] = [];
  for await (const events of store.read(0, { checksKeys: true })) log.push(...events);
  for (const [format, digest] of Object.entries(FORMER.exports) as [keyof typeof FORMATS, string][])
    expect(createHash('sha256').update(FORMATS[format].encode(log)).digest('hex')).toBe(digest);
  const { position, hash } = await store.head();
  expect({ position, hash: Buffer.from(hash).toString('hex') }).toEqual({
    position: FORMER.head.position,
    hash: FORMER.head.hash,
  });
  expect(await store.checkpoint()).toBe(FORMER.checkpoint);
  const erasures = (await store.erasures()).toSorted((one, other) => (one.eventId < other.eventId ? -1 : 1));
  expect(erasures).toEqual(FORMER.erasures.map((erasure) => ({ issuer: undefined, erasedBy: undefined, ...erasure })));
  const keys = ['alice', 'noted', 'removed'].map((owner) => ({
    owner,
    idempotencyKey: owner === 'alice' ? 'key-1' : `key of ${owner}`,
  }));
  // That of the erased owner is gone.
  const found = (await store.findByIdempotencyKeys(keys)).map((event) => event?.position);
  expect(found).toEqual([3, expect.any(Number), undefined]);
  const checkpoint = openCheckpoint(formerFile('log.checkpoint').toString(), FORMER.vkey);
  for await (const step of verifyLog(store, { checkpoint }))
    if ('answers' in step) {
      expect(step.answers.filter(({ failure }) => failure !== undefined)).toEqual([]);
      expect(step.ok).toBe(true);
    }
}
