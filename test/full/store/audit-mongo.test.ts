import { Binary, type Document, Double, Int32, Long, type UpdateFilter } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { auditContract } from '../../store/audit.ts';
import { fillForTampering, tamperingContract, verdictOf } from '../../store/audit-tampering.ts';
import { laterFieldsContract } from '../../store/later-fields.ts';
import { malformedContract } from '../../store/malformed.ts';
import { HAS_MONGODB, openMongoStore } from '../../store/open-mongo.ts';
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

describe.runIf(HAS_MONGODB)('MongoDB', () => {
  auditContract('MongoDB', openMongoStore);
  tamperingContract('MongoDB', openMongoStore);
  malformedContract('MongoDB', openMongoStore);
  laterFieldsContract('MongoDB', openMongoStore);

  test('whatever is no document of an event, its place is named', async () => {
    const opened = await openMongoStore();
    await fillForTampering(opened.store);
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
    await opened.cleanup();
  });

  test.each<[string, unknown, number]>([
    ['a floating-point number', new Double(4.5), 4.5],
    ['an int32', new Int32(13), 13],
  ])('an event invented at a position that is %s is found', async (_, _id, position) => {
    const opened = await openMongoStore();
    await fillForTampering(opened.store);
    const { client, close } = await opened.database();
    const events = client.db().collection<{ _id: unknown }>('events');
    const { _id: __, ...first } = (await events.findOne({ _id: Long.ONE }))!;
    await events.insertOne({ ...first, _id });
    await close();
    const { places } = await verdictOf(opened.store);
    expect(places).toMatchObject({ positions: position, chain: position });
    await opened.cleanup();
  });

  test.each(['-9007199254740991', '-9007199254740992', '-9223372036854775807', '-9223372036854775808'])(
    'an event invented at position %s is found',
    async (position) => {
      const opened = await openMongoStore();
      await fillForTampering(opened.store);
      const { client, close } = await opened.database();
      const events = client.db().collection<{ _id: Long }>('events');
      const first = await events.findOne({ _id: Long.ONE });
      await events.insertOne({ ...first, _id: Long.fromString(position) });
      await close();
      const { places } = await verdictOf(opened.store);
      expect(places).toMatchObject({ positions: Number(position), chain: Number(position) });
      await opened.cleanup();
    },
  );
});
