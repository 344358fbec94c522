import { Binary, Long } from 'mongodb';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { repairReadModel } from '../../src/audit/repair.ts';
import { UnsuitableDatabaseError } from '../../src/log/mongo/connection/requirements.ts';
import { openMongo } from '../../src/log/mongo/store.ts';
import { upgradeMongo } from '../../src/log/mongo/upgrade.ts';
import { Mongod } from '../support/mongod.ts';
import { findMongod } from '../support/mongod-binary.ts';
import { expectErased } from './former.ts';
import { FormerMongo } from './former-mongo.ts';
import { dropDatabase, HAS_MONGODB } from './open-mongo.ts';

let former: FormerMongo;

describe.runIf(HAS_MONGODB)('the upgrade of a database of 1.0.0', () => {
  beforeEach(async () => {
    former = await FormerMongo.load();
  });

  afterEach(() => former[Symbol.asyncDispose]());

  /** The steps of an upgrade that has begun to write: what its next step writes, it has read. */
  async function writing() {
    const steps = upgradeMongo(former.uri, repairReadModel);
    for (let step = await steps.next(); step.value?.what !== 'written'; ) step = await steps.next();
    return steps;
  }

  test('keeps the log, the read model, the erasures and every proof', async () => {
    const log = await former.documents('meta', { _id: 'log' });
    await former.upgrade();
    await former.expectUpgraded();
    expect(await former.documents('meta', { _id: 'log' })).toEqual(log);
    const store = await openMongo(former.uri);
    await expectErased(store);
    await store.close();
  });

  test('a start refuses, and names the command', async () => {
    for (const readOnly of [true, false])
      await expect(openMongo(former.uri, { readOnly })).rejects.toThrow(
        /has schema 4, that of release 1\.0\.0: stop all instances of the service, then run plantstore upgrade/,
      );
    const steps = await writing();
    await expect(openMongo(former.uri)).rejects.toThrow(/has an unfinished upgrade: .*run plantstore upgrade/);
    // 1.0.0 refuses each version above its own.
    expect((await former.schema()).version).toBeGreaterThan(4);
    await steps.return(undefined);
  });

  test('makes the rows and a lost checkpoint anew, and drops what rebuilds have left', async () => {
    await former.rebuild();
    await former.update('checkpoints', { _id: 'plants' }, { $unset: { position: '', collection: '' } });
    await former.upgrade();
    await former.expectUpgraded();
  });

  test('goes on with any mix of old and new events, as killed writes may leave it', async () => {
    const [old, notes] = [await former.documents('events'), await former.documents('erasures')];
    const checkpoint = await former.documents('checkpoints');
    await former.upgrade();
    await former.remove('events', { _id: { $gt: Long.fromNumber(old.length) } });
    await former.insert('erasures', notes);
    await former.remove('plants', { _id: 'checkpoint' });
    await former.insert('checkpoints', checkpoint);
    await former.update('meta', { _id: 'schema' }, { $set: { isUpgrading: true } });
    for (const document of old) if (Number(document._id) % 3 > 0) await former.replace('events', document);
    await former.upgrade();
    await former.expectUpgraded();
  });

  test('two at once do each other no harm, nor does another one', async () => {
    // The one may find that the other has a lease.
    await Promise.allSettled([former.upgrade(), former.upgrade()]);
    await former.upgrade();
    await former.expectUpgraded();
    await former.upgrade();
    await former.expectUpgraded();
  });

  test('one that wakes when the service has erased an owner brings nothing back', async () => {
    await former.rebuild();
    const frozen = await writing();
    await former.upgrade();
    const gone = { content: '', owner: '', plantId: '', idempotencyKey: '' };
    const erase = { $set: { erasedBy: Long.fromNumber(600) }, $unset: gone };
    await former.update('events', { owner: 'bob' }, erase);
    await former.remove('plants', { '_id.owner': 'bob' });
    const state = () => Promise.all(['events', 'plants', 'meta'].map((name) => former.documents(name)));
    const erased = await state();
    for (let step = await frozen.next(); step.done !== true; ) step = await frozen.next();
    expect(await state()).toEqual(erased);
  });

  test('does not begin while an instance has a lease', async () => {
    const until = new Date(Date.now() + 8_000);
    await former.update('leases', { _id: 'projector' }, { $set: { until } });
    await expect(former.upgrade()).rejects.toThrow(
      /an instance of the service runs, .* the lease of projector for \d s more; stop all instances/,
    );
    expect((await former.schema()).version).toBe(4);
  });

  test('waits for MongoDB also where it finds none at its beginning', async () => {
    const mongod = await Mongod.start(await findMongod(), '--replSet', 'later');
    onTestFinished(() => mongod.remove());
    await mongod.command({ replSetInitiate: { _id: 'later', members: [{ _id: 0, host: mongod.address }] } });
    await mongod.kill();
    let waits = 0;
    const back = () => {
      if (waits++ === 0) void mongod.start();
    };
    const steps = upgradeMongo(`mongodb://${mongod.address}/none?replicaSet=later`, repairReadModel, back);
    await expect(steps.next()).rejects.toThrow('contains no plant store');
    expect(waits).toBeGreaterThan(0);
  });

  test('waits for no MongoDB that the URI can never reach', async () => {
    const option = `${former.uri.includes('?') ? '&' : '?'}minPoolSize=200`;
    const waited = vi.fn();
    await expect(former.upgrade(former.uri + option, waited)).rejects.toThrow('MONGODB_URI is not valid: ');
    expect(waited).not.toHaveBeenCalled();
  });

  test('leaves a new store alone, and refuses what is none', async () => {
    await dropDatabase(former.uri);
    await expect(former.upgrade()).rejects.toThrow('contains no plant store');
    await (await openMongo(former.uri)).close();
    const before = await former.documents('meta');
    await former.upgrade();
    expect(await former.documents('meta')).toEqual(before);
  });

  test.each([
    ['a changed content', { $set: { name: 'Rose' } }, 'its content'],
    ['a changed hash', { $set: { hash: new Binary(Buffer.alloc(32)) } }, 'its hash'],
    ['a member that no event has', { $set: { colour: 'red' } }, 'its member colour'],
    ['a member of another type', { $set: { time: 1 } }, 'its member time'],
    ['a lost member', { $unset: { eventId: '' } }, 'its member eventId is missing'],
    ['a content that is only partly gone', { $unset: { salt: '' } }, 'its content is missing'],
    ['a content beside an erasure', { $set: { erasedBy: Long.fromNumber(400) } }, 'erasedBy'],
  ])('stops at %s, and leaves the database to 1.0.0', async (_, change, why) => {
    await former.update('events', { _id: Long.fromNumber(300) }, change);
    const state = () => Promise.all(['events', 'tree', 'meta', 'checkpoints'].map((name) => former.documents(name)));
    const before = await state();
    const error = await former.upgrade().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UnsuitableDatabaseError);
    expect(String(error)).toMatch(new RegExp(`broken at position 300: .*${why}.*audit verify of 1\\.0\\.0`));
    expect(await state()).toEqual(before);
  });

  test('stops at a lost event', async () => {
    await former.remove('events', { _id: Long.fromNumber(300) });
    await expect(former.upgrade()).rejects.toThrow('broken at position 300: the next event has position 301');
  });
});
