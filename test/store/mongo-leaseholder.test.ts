import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { HAS_MONGODB, openMongoStore } from './open-mongo.ts';
import { withStore } from './open-store.ts';

const contact = (number: number) => ({ address: `10.0.0.${number}:50051`, secret: `secret ${number}` });

describe.runIf(HAS_MONGODB)('the holder of a lease on MongoDB', () => {
  test(
    'is known to the others, with its address and its secret, for as long as the lease lasts',
    withStore(openMongoStore)(async ({ store, second }) => {
      const other = await second();
      expect(await other.leaseholder('writer')).toBeUndefined();
      expect(await store.lease('writer', 'one', 60_000, contact(1))).toBe(true);
      expect(await other.leaseholder('writer')).toEqual({ holder: 'one', ...contact(1) });
      expect(await other.lease('writer', 'two', 60_000, contact(2))).toBe(false);
      expect(await other.leaseholder('writer')).toEqual({ holder: 'one', ...contact(1) });
      expect(await store.lease('writer', 'one', 0, contact(1))).toBe(true);
      expect(await other.leaseholder('writer')).toBeUndefined();
      expect(await other.lease('writer', 'two', 60_000, { ...contact(2), certificate: 'PEM' })).toBe(true);
      expect(await store.leaseholder('writer')).toEqual({ holder: 'two', ...contact(2), certificate: 'PEM' });
      expect(await store.lease('writer', 'one', 60_000, contact(1))).toBe(false);
      expect(await store.leaseholder('projector')).toBeUndefined();
    }),
  );

  test(
    'may be another by the clock of any server once the lease was given back',
    withStore(openMongoStore)(async ({ store, database }) => {
      await store.lease('writer', 'one', 60_000, contact(1));
      await store.lease('writer', 'one', 0, contact(1));
      const { client, close } = await database();
      expect(await client.db().collection('leases').findOne()).toMatchObject({ holder: 'one', until: new Date(0) });
      await close();
    }),
  );

  test(
    'is unknown where the lease has run out, seems to last for an hour, or was taken without an address',
    withStore(openMongoStore)(async ({ store, second }) => {
      const other = await second();
      expect(await store.lease('writer', 'one', 1, contact(1))).toBe(true);
      while ((await other.leaseholder('writer')) !== undefined) await sleep(5);
      expect(await store.lease('writer', 'one', 3_600_000, contact(1))).toBe(true);
      expect(await other.leaseholder('writer')).toBeUndefined();
      expect(await store.lease('projector', 'one', 60_000)).toBe(true);
      expect(await other.leaseholder('projector')).toBeUndefined();
    }),
  );
});
