import { Binary, Decimal128, type Document, Double, Int32, Long, ObjectId, type UpdateFilter } from 'mongodb';
import { describe, expect, onTestFinished, test } from 'vitest';
import { repairReadModel } from '../../../src/audit/repair.ts';
import { verdictText } from '../../../src/audit/verify.ts';
import type { Store } from '../../../src/log/store.ts';
import { auditContract } from '../../store/audit.ts';
import { fillForTampering, tamperingContract, verdictOf } from '../../store/audit-tampering.ts';
import { laterFieldsContract } from '../../store/later-fields.ts';
import { malformedContract } from '../../store/malformed.ts';
import { HAS_MONGODB, openMongoStore } from '../../store/open-mongo.ts';
import { added, append, project } from '../../support/events.ts';
import { readLog } from '../../support/fold.ts';
import { unreadableAt } from '../../support/tampering.ts';

/** Documents that no release wrote: what differs from the event at a position. */
const DOCUMENTS: readonly (readonly [kind: string, position: number, UpdateFilter<Document>])[] = [
  ['one whose bytes are missing', 6, { $unset: { event: '' } }],
  ['one whose bytes are a string', 6, { $set: { event: 'x' } }],
  ['one whose bytes are null', 6, { $set: { event: null } }],
  ['one whose bytes are of another subtype', 6, { $set: { event: new Binary(Buffer.alloc(16), 4) } }],
  ['one without a hash', 6, { $unset: { hash: '' } }],
  ['one whose hash is a string', 6, { $set: { hash: 'x' } }],
  ['one whose content is a string', 6, { $set: { content: 'x' } }],
  ['one whose content is null', 6, { $set: { content: null } }],
  ['one whose erasure is null', 5, { $set: { erasedBy: null } }],
  ['one whose erasure is a floating-point number', 5, { $set: { erasedBy: new Double(9) } }],
  ['one whose erasure is an int32', 5, { $set: { erasedBy: new Int32(9) } }],
  ['one whose erasure is a string', 5, { $set: { erasedBy: '9' } }],
  ['a last one without bytes', 12, { $unset: { event: '' } }],
  ['a last one whose bytes are a string', 12, { $set: { event: 'x' } }],
  ['a last one without a hash', 12, { $unset: { hash: '' } }],
];

/** Updates of what stands beside an event, which itself is as it was. */
const BESIDE: typeof DOCUMENTS = [
  ['one with a field of its own', 6, { $set: { note: 'x' } }],
  ['one that is erased and has a field of its own', 5, { $set: { name: 'Oak' } }],
  ['one whose plant id is a floating-point number', 6, { $set: { plantId: new Double(2) } }],
  ['one whose plant id is an int32', 6, { $set: { plantId: new Int32(2) } }],
  ['one whose plant id is null', 6, { $set: { plantId: null } }],
  ['one whose owner is a number', 6, { $set: { owner: 7 } }],
  ['one whose owner is null', 6, { $set: { owner: null } }],
  ['one whose owner is in a list', 6, { $set: { owner: ['bob'] } }],
  ['one whose idempotency key is null', 6, { $set: { idempotencyKey: null } }],
  ['one whose idempotency key is in a list', 3, { $set: { idempotencyKey: ['k'] } }],
];

const OTHER_ID = 'an _id of another type than the service writes: docs/mongodb.md says how to find it';

/** What no service gives a document of `events`, `plants` or `tree` as `_id`. */
const OTHER_IDS = ['5', null, new Double(Number.NaN), new Binary(Buffer.from('x')), new ObjectId(), true, new Date()];

async function fillPlants(store: Store, count: number): Promise<void> {
  await append(store, ...Array.from({ length: count }, (_, id) => added('dora', BigInt(id))));
  await project(store);
}

/** A store with the log that is tampered with, until the end of the test. */
async function openFilled() {
  const opened = await openMongoStore();
  onTestFinished(() => opened.cleanup());
  await fillForTampering(opened.store);
  return opened;
}

describe.runIf(HAS_MONGODB)('MongoDB', () => {
  auditContract('MongoDB', openMongoStore);
  tamperingContract('MongoDB', openMongoStore);
  malformedContract('MongoDB', openMongoStore);
  laterFieldsContract('MongoDB', openMongoStore);

  test('a document that no read by a position or a key meets is found, whatever the type of its _id', async () => {
    const opened = await openFilled();
    // More than a read of rows has at once, so that those of other types are in none.
    await fillPlants(opened.store, 1_500);
    expect((await verdictOf(opened.store)).places).toEqual({});
    const { client, close } = await opened.database();
    const found = async (collection: string, document: Document) => {
      const documents = client.db().collection<Document & { _id: unknown }>(collection);
      await documents.insertOne(document as Document & { _id: unknown });
      const { places } = await verdictOf(opened.store);
      await documents.deleteOne({ _id: document._id });
      return places;
    };
    const first = await client.db().collection<Document>('events').findOne({ _id: Long.ONE });
    for (const _id of [...OTHER_IDS, new Double(Number.NEGATIVE_INFINITY)])
      expect(await found('events', { ...first, _id }), String(_id)).toEqual({
        storage: expect.stringContaining(OTHER_ID),
      });
    for (const _id of OTHER_IDS)
      expect((await found('plants', { name: 'x', _id })).read_model, String(_id)).toMatch('a document of `plants` has');
    for (const _id of [...OTHER_IDS, Long.fromNumber(-1), Long.fromNumber(99), new Double(99.5)])
      expect((await found('tree', { hash: new Binary(Buffer.alloc(32)), _id })).tree, String(_id)).toBeDefined();
    expect((await verdictOf(opened.store)).places).toEqual({});
    await close();
  });

  test.each(['events', 'plants', 'tree'])(
    'a database without its collection %s gets a verdict that names it',
    async (name) => {
      const opened = await openFilled();
      const { client, close } = await opened.database();
      await client.db().dropCollection(name);
      await close();
      expect((await verdictOf(opened.store)).places.storage).toBe(`gone: ${name}`);
    },
  );

  test.each(['events_by_idempotency_key', 'events_that_erase'])(
    'a database without its index %s gets a verdict that names it',
    async (name) => {
      const opened = await openFilled();
      expect((await verdictOf(opened.store)).places).toEqual({});
      const { client, close } = await opened.database();
      const events = client.db().collection('events');
      const { key, partialFilterExpression } = (await events.indexes()).find((index) => index.name === name)!;
      await events.dropIndex(name);
      const storage = `gone: the index ${name} of events, or it is hidden: docs/mongodb.md says how to create it`;
      expect((await verdictOf(opened.store)).places).toEqual({ storage });
      await events.createIndex(key, { name, partialFilterExpression: partialFilterExpression! });
      await close();
      expect((await verdictOf(opened.store)).places).toEqual({});
    },
  );

  test('nodes of the tree that are of no events go with a repair, whatever the type of their _id', async () => {
    const opened = await openFilled();
    await fillPlants(opened.store, 600);
    const { client, close } = await opened.database();
    const tree = client.db().collection<Document & { _id: unknown }>('tree');
    const hash = new Binary(Buffer.alloc(32));
    await tree.insertMany([...OTHER_IDS, Long.fromNumber(-1), new Double(0.5)].map((_id) => ({ _id, hash })));
    await close();
    for await (const _ of repairReadModel(opened.store));
    expect((await verdictOf(opened.store)).places).toEqual({});
  });

  test('whatever is no document of an event, its place is named', async () => {
    const opened = await openFilled();
    const { client, keep, close } = await opened.database();
    await keep(5, { content: undefined, owner: undefined, plantId: undefined, erasedBy: 9 });
    const events = client.db().collection<Document>('events', { promoteLongs: false });
    const before = (await verdictOf(opened.store)).places;
    expect(before).not.toHaveProperty('positions');
    for (const [kind, position, update] of [...DOCUMENTS, ...BESIDE]) {
      const _id = Long.fromNumber(position);
      const was = (await events.findOne({ _id }))!;
      await events.updateOne({ _id }, update);
      const { verdict, places } = await verdictOf(opened.store);
      expect(verdict.ok, kind).toBe(false);
      const questions = verdict.answers.map(({ question }) => question);
      const isBeside = BESIDE.some(([each]) => each === kind);
      expect(places, kind).toEqual(isBeside ? { ...before, storage: position } : unreadableAt(position, questions));
      await events.replaceOne({ _id }, was);
    }
    expect((await verdictOf(opened.store)).places).toEqual(before);
    await close();
  });

  test.each<[string, unknown, number]>([
    ['a floating-point number', new Double(4.5), 4.5],
    ['a floating-point number, as the last', new Double(12.5), 12.5],
    ['an int32', new Int32(13), 13],
    ['a decimal number', Decimal128.fromString('6.5'), 6.5],
  ])('an event invented at a position that is %s is found', async (_, _id, position) => {
    const opened = await openFilled();
    const { client, close } = await opened.database();
    const events = client.db().collection<{ _id: unknown }>('events');
    const { _id: __, ...first } = (await events.findOne({ _id: Long.ONE }))!;
    await events.insertOne({ ...first, _id });
    await close();
    const { places, verdict } = await verdictOf(opened.store);
    expect(places).toMatchObject({ positions: position, chain: position });
    expect(verdictText(verdict)).toContain(
      `positions    NO   at position ${position}: a document of \`events\` has ${OTHER_ID}`,
    );
    await expect(readLog(opened.store)).rejects.toThrow(OTHER_ID);
  });

  test.each(['-9007199254740991', '-9007199254740992', '-9223372036854775807', '-9223372036854775808'])(
    'an event invented at position %s is found',
    async (position) => {
      const opened = await openFilled();
      const { client, close } = await opened.database();
      const events = client.db().collection<{ _id: Long }>('events');
      const first = await events.findOne({ _id: Long.ONE });
      await events.insertOne({ ...first, _id: Long.fromString(position) });
      await close();
      const { places } = await verdictOf(opened.store);
      expect(places).toMatchObject({ positions: Number(position), chain: Number(position) });
    },
  );
});
