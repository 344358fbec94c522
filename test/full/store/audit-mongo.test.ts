import { type Document, Double, Int32, Long, type UpdateFilter } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { auditContract } from '../../store/audit.ts';
import { decisionsContract } from '../../store/audit-decisions.ts';
import { fillForTampering, tamperingContract, verdictOf } from '../../store/audit-tampering.ts';
import { openMongoDatabase } from '../../store/mongo-database.ts';
import { HAS_MONGODB, openMongoStore } from '../../store/open-mongo.ts';
import { TRACEPARENT } from '../../support/events.ts';
import { unreadableAt } from '../../support/tampering.ts';

const open = async () => {
  const opened = await openMongoStore();
  return { ...opened, database: async () => openMongoDatabase(opened.uri) };
};

describe.runIf(HAS_MONGODB)('MongoDB', () => {
  auditContract('MongoDB', open);
  tamperingContract('MongoDB', open);
  decisionsContract('MongoDB', open);

  test.each<[string, number, UpdateFilter<Document> | Document[]]>([
    ['an addition without a name', 4, { $unset: { name: '' } }],
    ['an addition whose tag is null', 4, { $set: { tag: null } }],
    ['a deletion with a name', 8, { $set: { name: 'x' } }],
    ['a deletion with a tag', 8, { $set: { tag: '' } }],
    ['one with a field of its own', 6, { $set: { note: 'x' } }],
    ['one of another type', 6, { $set: { type: 'PlantMoved' } }],
    ['one whose plant id is a floating-point number', 6, { $set: { plantId: new Double(2) } }],
    ['one whose plant id is an int32', 6, { $set: { plantId: new Int32(2) } }],
    ['one whose owner is a number', 6, { $set: { owner: 7 } }],
    ['one whose time is a string', 6, { $set: { time: '2026-01-02T03:04:05.678Z' } }],
    ['one whose hash is a string', 6, { $set: { hash: 'x' } }],
    ['one whose idempotency key is empty', 6, { $set: { idempotencyKey: '' } }],
    ['one whose idempotency key is null', 6, { $set: { idempotencyKey: null } }],
    ['one whose trace context is empty', 6, { $set: { traceparent: '' } }],
    ['one whose trace context is null', 6, { $set: { traceparent: null } }],
    ['one whose trace context is in a list', 6, { $set: { traceparent: [TRACEPARENT] } }],
    ['one whose trace context is too long', 6, { $set: { traceparent: `${TRACEPARENT}-` } }],
    ['one without a salt', 6, { $unset: { salt: '' } }],
    ['one without a commitment', 6, { $unset: { commitment: '' } }],
    ['one that is erased and has an owner', 6, { $unset: { salt: '' }, $set: { erasedBy: Long.fromNumber(12) } }],
    ['one whose time is that of no date', 6, [{ $set: { time: { $toDate: Long.MAX_VALUE } } }]],
    ['a last one without a hash', 12, { $unset: { hash: '' } }],
    ['one without a hash', 6, { $unset: { hash: '' } }],
    ['one without an event id', 6, { $unset: { eventId: '' } }],
  ])('%s is no event: its place is named', async (_, position, update) => {
    const opened = await open();
    await fillForTampering(opened.store);
    const { client, close } = await opened.database();
    await client
      .db()
      .collection<Document>('events')
      .updateOne({ _id: Long.fromNumber(position) }, update);
    await close();
    const { verdict, places } = await verdictOf(opened.store);
    expect(verdict.ok).toBe(false);
    expect(places).toEqual(
      unreadableAt(
        position,
        verdict.answers.map(({ question }) => question),
      ),
    );
    await opened.cleanup();
  });

  test.each(['-9007199254740991', '-9007199254740992', '-9223372036854775807', '-9223372036854775808'])(
    'an event invented at position %s is found',
    async (position) => {
      const opened = await open();
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
