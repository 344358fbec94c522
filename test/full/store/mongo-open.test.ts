import { randomBytes, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Db, MongoClient } from 'mongodb';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { repairReadModel } from '../../../src/audit/repair.ts';
import { EMPTY_HEAD } from '../../../src/log/event/event.ts';
import { UnsuitableDatabaseError } from '../../../src/log/mongo/connection/requirements.ts';
import { checkSchema, SCHEMA_VERSION } from '../../../src/log/mongo/schema.ts';
import { openMongo } from '../../../src/log/mongo/store.ts';
import { RefusedAppendError } from '../../../src/log/store.ts';
import { dropDatabase, HAS_MONGODB, newDatabase } from '../../store/open-mongo.ts';
import { command } from '../../support/command.ts';
import { added, append, chain, deleted, project } from '../../support/events.ts';
import { readLog, readModel } from '../../support/fold.ts';
import { startLocalService } from '../../support/local-service.ts';
import { Mongod } from '../../support/mongod.ts';
import { findMongod } from '../../support/mongod-binary.ts';
import { ReplicaSet } from '../../support/replica-set.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** What opening a store at a URI is refused for, for good; undefined when it opens, or may open later. */
async function refusal(uri: string): Promise<string | undefined> {
  try {
    await (await openMongo(uri)).close();
    return undefined;
  } catch (error) {
    return error instanceof UnsuitableDatabaseError ? error.message : undefined;
  }
}

const resource = (collection: string, ...actions: string[]) => ({
  resource: { db: 'plantstore', collection },
  actions: ['find', 'insert', 'createCollection', ...actions],
});

/** The role that docs/mongodb.md gives the service: nothing in it changes or removes an event. */
const ROLE = {
  createRole: 'plantstore',
  privileges: [
    resource('events', 'createIndex'),
    ...['leases', 'meta'].map((collection) => resource(collection, 'update')),
    ...['tree', 'plants'].map((collection) => resource(collection, 'update', 'remove')),
  ],
  roles: [],
};

/** What docs/mongodb.md gives whoever reads: no `leases`, with which one could write. */
const AUDITOR = {
  createRole: 'auditor',
  privileges: ['events', 'meta', 'tree', 'plants'].map((collection) => ({
    resource: { db: 'plantstore', collection },
    actions: ['find'],
  })),
};

describe.runIf(HAS_MONGODB)('opening a store on MongoDB', () => {
  test.each([
    ['some', [added('alice', 1n), added('alice', 2n)]],
    ['none', [added('alice', 1n), deleted('alice', 1n)]],
  ])(
    'rows that somebody dropped are refused by a start, and doctor says so, until a repair has made them: %s',
    async (_, events) => {
      const uri = newDatabase();
      onTestFinished(() => dropDatabase(uri));
      const store = await openMongo(uri);
      await append(store, ...events);
      await project(store);
      const rows = await readModel(store, 'alice');
      await store.close();
      const client = await MongoClient.connect(uri);
      onTestFinished(() => client.close());
      await client.db().dropCollection('plants');
      const environment = { MONGODB_URI: uri, DATA_DIR: temporaryDirectory(onTestFinished) };
      expect(await command(['serve'], environment)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/ has lost the checkpoint of its read model: run plantstore audit rebuild$/m),
      });
      const doctor = await command(['doctor'], environment);
      expect(doctor.stdout).toMatch(/^fail +store .*: gone: plants; run plantstore audit verify$/m);
      const repairing = await openMongo(uri, { mustExist: true });
      for await (const _ of repairReadModel(repairing));
      await repairing.close();
      const repaired = await openMongo(uri);
      expect(await readModel(repaired, 'alice')).toEqual(rows);
      await repaired.close();
    },
  );

  test('what is no URI is refused for good', async () => {
    for (const uri of ['mongodb://', 'http://localhost', 'mongodb://localhost/?nonsense=1', 'mongodb://localhost/a.b'])
      expect(await refusal(uri)).toMatch(/^MONGODB_URI is not valid: /);
  });

  test('what a URI names and no waiting changes is refused for good', async () => {
    const uri = newDatabase();
    onTestFinished(() => dropDatabase(uri));
    await (await openMongo(uri)).close();
    const { pathname } = new URL(uri.replace(/,[^/]*/, ''));
    for (const name of ['x'.repeat(64), 'a%20b', pathname.slice(1).toUpperCase()])
      expect(await refusal(uri.replace(pathname, `/${name}`)), name).toMatch(
        /^MONGODB_URI is not valid: .*(name|case)/,
      );
    const option = `${uri.includes('?') ? '&' : '?'}minPoolSize=200`;
    expect(await refusal(uri + option)).toBe(
      'MONGODB_URI is not valid: Connection pool minimum size must not be greater than maximum pool size',
    );
  });

  test('a database in which no transaction runs is refused for good', async () => {
    for (const name of ['config', 'local'])
      expect(await refusal(`mongodb://localhost/${name}?replicaSet=a`)).toMatch(
        new RegExp(`^MONGODB_URI names the database ${name}, which MongoDB keeps for itself: name another`),
      );
  });

  test('a server that is no replica set is refused for good', async () => {
    const mongod = await Mongod.start(await findMongod());
    onTestFinished(() => mongod.remove());
    expect(await refusal(`mongodb://${mongod.address}/`)).toMatch(/not a replica set: start mongod with --replSet/);
  });

  test('servers without a journal are refused for good', async ({ skip }) => {
    const set = await ReplicaSet.start(1, '--storageEngine', 'ephemeralForTest').catch(() => undefined);
    if (set === undefined) return skip('this mongod has no storage engine without a journal');
    try {
      expect(await refusal(set.uri('plantstore'))).toMatch(/keeps no journal/);
    } finally {
      await set.remove();
    }
  });

  test('a majority that need not have journaled is refused for good', async () => {
    const set = await ReplicaSet.start(1);
    onTestFinished(() => set.remove());
    const { config } = (await set.command({ replSetGetConfig: 1 })) as { config: { version: number } };
    const changed = { ...config, version: config.version + 1, writeConcernMajorityJournalDefault: false };
    await set.command({ replSetReconfig: changed });
    expect(await refusal(set.uri('plantstore'))).toMatch(/set writeConcernMajorityJournalDefault to true/);
  });

  test.each([
    ['a newer release', SCHEMA_VERSION + 1, /schema \d+, which a newer release wrote; this release knows \d+/],
    ['a version before the first release', 3, /schema 3, from before the first release/],
  ])('what %s wrote is refused for good, and left as it is', async (_, version, why) => {
    const uri = newDatabase();
    const client = new MongoClient(uri);
    await client.db().collection<{ _id: string; version: number }>('meta').insertOne({ _id: 'schema', version });
    expect(await refusal(uri)).toMatch(why);
    expect((await client.db().collections()).map(({ collectionName }) => collectionName)).toEqual(['meta']);
    await client.close();
    await dropDatabase(uri);
  });

  test.each(['events', 'plants'])(
    '%s with a collation, which takes two owners for one, is refused for good',
    async (name) => {
      const uri = newDatabase();
      await using client = new MongoClient(uri);
      await client.db().createCollection(name, { collation: { locale: 'en', strength: 1 } });
      expect(await refusal(uri)).toMatch(new RegExp(`^the collection ${name} has a collation`));
      await dropDatabase(uri);
    },
  );

  test('an event that a validator refuses is refused at once, and keeps no other out', async () => {
    const uri = newDatabase();
    const store = await openMongo(uri);
    await using client = new MongoClient(uri);
    await client.db().command({ collMod: 'events', validator: { owner: { $ne: 'alice' } } });
    const events = chain(await store.head(), [added('bob', 1n), added('alice', 1n)]);
    await expect(store.append(chain(await store.head(), [added('alice', 1n)]))).rejects.toThrow(RefusedAppendError);
    // What stands before it has landed.
    expect(await store.append(events)).toBe(1);
    expect(await store.append(chain(await store.head(), [added('bob', 2n)]))).toBe(1);
    await store.close();
    await dropDatabase(uri);
  });

  test('an event that a unique index refuses is refused at once, with the reason, and keeps no other out', async () => {
    const uri = newDatabase();
    const store = await openMongo(uri);
    await append(store, added('alice', 1n));
    await using client = new MongoClient(uri);
    await client.db().collection('events').createIndex({ owner: 1 }, { unique: true });
    const refused = store.append(chain(await store.head(), [added('alice', 2n)]));
    await expect(refused).rejects.toThrow(RefusedAppendError);
    await expect(refused).rejects.toThrow('a unique index on the collection events refuses the event');
    const events = chain(await store.head(), [added('bob', 1n), added('alice', 2n)]);
    expect(await store.append(events)).toBe(1);
    expect(await store.append(chain(await store.head(), [added('carol', 1n)]))).toBe(1);
    await store.close();
    await dropDatabase(uri);
  });

  test.each(['promoteValues=false', 'raw=true', 'useBigInt64=true'])(
    '%s in the URI changes nothing of what is written and read',
    async (option) => {
      const uri = newDatabase();
      const store = await openMongo(`${uri}${uri.includes('?') ? '&' : '?'}${option}`);
      const events = await append(store, added('alice', 1n), added('alice', 2n), deleted('alice', 1n));
      await project(store);
      expect(await readLog(store)).toEqual(events);
      expect((await readModel(store, 'alice')).rows.map(({ id }) => id)).toEqual([2n]);
      expect(await store.lease('projector', 'one', 60_000)).toBe(true);
      await store.close();
      await dropDatabase(uri);
    },
  );

  test('servers that are not there yet, or not yet a replica set, are not refused for good', async () => {
    const mongod = await Mongod.start(await findMongod(), '--replSet', 'later');
    const uri = `mongodb://${mongod.address}/?replicaSet=later`;
    onTestFinished(() => mongod.remove());
    const error = await openMongo(uri).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(UnsuitableDatabaseError);
    expect(String(error)).toContain('is in no replica set yet: run rs.initiate() on it');
    await mongod.command({ replSetInitiate: { _id: 'later', members: [{ _id: 0, host: mongod.address }] } });
    const store = await openMongo(uri);
    expect(await store.head()).toEqual(EMPTY_HEAD);
    await store.close();
  });

  test('servers of another replica set are told by the name that they do not have', async () => {
    const misnamed = newDatabase().replace(/replicaSet=[^&]+/, 'replicaSet=other');
    await expect(openMongo(misnamed)).rejects.toThrow(
      'no server of MONGODB_URI is a member of the replica set other: set replicaSet=',
    );
    await expect(openMongo(`${misnamed}&directConnection=true`)).rejects.toThrow(
      'does not answer as a member of the replica set other',
    );
  });

  test('a reader of a store that is not there is told so, for good, and nothing is made', async () => {
    const uri = newDatabase();
    await expect(openMongo(uri, { readOnly: true })).rejects.toThrow(
      /^database .* contains no plant store; the first start of the service makes one/,
    );
    await expect(openMongo(uri, { readOnly: true })).rejects.toThrow(UnsuitableDatabaseError);
    const client = new MongoClient(uri);
    expect(await client.db().collections()).toEqual([]);
    await client.close();
  });

  test.each([
    ['erase', ['erase', '--owner', 'alice']],
    ['audit rebuild', ['audit', 'rebuild']],
  ])('%s of a store that is not there says so, and makes none', async (_, args) => {
    const uri = newDatabase();
    const ended = await command(args, { MONGODB_URI: uri, DATA_DIR: temporaryDirectory(onTestFinished) });
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toMatch(/contains no plant store; .*correct MONGODB_URI/);
    await using client = new MongoClient(uri);
    expect(await client.db().collections()).toEqual([]);
  });

  test('a preference of secondaries in the URI is of no effect', async () => {
    const store = await openMongo(`${newDatabase()}&readPreference=secondary`);
    expect(await store.head()).toEqual(EMPTY_HEAD);
    await store.close();
  });

  test('an instance that stands still while another makes the store, and appends, takes it for no damaged one', async () => {
    let reads = 0;
    const found = { events: { _id: 1 }, meta: { _id: 'schema', version: SCHEMA_VERSION } };
    const collection = (name: string) => ({
      findOne: async () => (reads++ === 0 ? null : found[name as keyof typeof found]),
      aggregate: () => ({ toArray: async () => [{ isByBytes: true }] }),
    });
    const listCollections = () => ({ toArray: async () => [{ name: 'plants' }] });
    await checkSchema({ databaseName: 'plantstore', collection, listCollections } as unknown as Db, true);
    expect(reads).toBe(2);
  });

  test('several instances open a new database at once, and share it', async () => {
    const uri = newDatabase();
    const stores = await Promise.all(Array.from({ length: 8 }, () => openMongo(uri)));
    await append(stores[0]!, added('alice', 1n));
    expect(await Promise.all(stores.map(async (store) => (await store.head()).position))).toEqual(stores.map(() => 1));
    expect(await Promise.all(stores.map((store) => store.checkpoint()))).toEqual(stores.map(() => 0));
    for (const store of stores) await store.close();
    await dropDatabase(uri);
  });

  test('the database is the one that the URI names, or plantstore', async () => {
    const set = await ReplicaSet.start(1);
    onTestFinished(() => set.remove());
    for (const [named, name] of [
      ['my%2Dplants', 'my-plants'],
      ['', 'plantstore'],
    ] as const) {
      await (await openMongo(set.uri(named))).close();
      const { databases } = (await set.command({ listDatabases: 1 })) as { databases: { name: string }[] };
      expect(databases.map((database) => database.name)).toContain(name);
    }
  });

  test('what a running service may not do is told, and no line names an owner', async () => {
    const keyFile = join(temporaryDirectory(onTestFinished), 'key');
    writeFileSync(keyFile, randomBytes(96).toString('base64'), { mode: 0o400 });
    const set = await ReplicaSet.start(1, '--keyFile', keyFile);
    onTestFinished(() => set.remove());
    const [password, admin] = [randomUUID(), randomUUID()];
    await set.command({ createUser: 'admin', pwd: admin, roles: ['root'] });
    await using client = new MongoClient(set.uri('admin').replace('//', `//admin:${admin}@`));
    const database = client.db('plantstore');
    await database.command(ROLE);
    await database.command({ createUser: 'service', pwd: password, roles: ['plantstore'] });
    const MONGODB_URI = set.uri('plantstore').replace('//', `//service:${password}@`);
    await using service = await startLocalService({ MONGODB_URI, LOG_OWNER: 'off' });
    const add = async (id: number) => {
      const authorization = `Bearer ${await service.token('malvolio')}`;
      const body = JSON.stringify({ id, name: 'private' });
      const headers = { authorization, 'content-type': 'application/json', 'idempotency-key': `private-key-${id}` };
      return (await fetch(`${service.url}/plants`, { method: 'POST', headers, body })).status;
    };
    expect(await add(1)).toBe(200);
    const without = (collection: string, action: string) => ({
      updateRole: 'plantstore',
      privileges: ROLE.privileges.map(({ resource: of, actions }) => ({
        resource: of,
        actions: of.collection === collection ? actions.filter((each) => each !== action) : actions,
      })),
    });
    await database.command(without('events', 'insert'));
    expect([await add(2), await add(3), await add(4)]).toEqual([503, 503, 503]);
    await database.command(without('leases', 'update'));
    const told = (what: string) => service.logs.filter((line) => JSON.stringify(line).includes(`may not run ${what}`));
    await vi.waitFor(() => expect(told('update on leases')).not.toEqual([]), 10_000);
    // One of the store, and one of a request.
    expect(told('insert on events')).toHaveLength(2);
    expect(JSON.stringify(service.logs) + service.output).not.toMatch(/malvolio|private/);
  });

  test('a user that cannot change or remove an event, and has no right on the servers, is enough', async () => {
    const directory = temporaryDirectory(onTestFinished);
    const keyFile = join(directory, 'key');
    writeFileSync(keyFile, randomBytes(96).toString('base64'), { mode: 0o400 });
    const set = await ReplicaSet.start(1, '--keyFile', keyFile);
    onTestFinished(() => set.remove());
    const [password, admin] = [randomUUID(), randomUUID()];
    await set.command({ createUser: 'admin', pwd: admin, roles: ['root'] });
    const asAdmin = set.uri('admin').replace('//', `//admin:${admin}@`);
    const onPlantstore = new MongoClient(asAdmin);
    await onPlantstore.db('plantstore').command({ createRole: 'half', privileges: [resource('meta')], roles: [] });
    await onPlantstore.db('plantstore').command({ createUser: 'half', pwd: password, roles: ['half'] });
    const all = [{ resource: { db: 'plantstore', collection: '' }, actions: ['anyAction'] }];
    await onPlantstore.db('plantstore').command({ createRole: 'all', privileges: all, roles: [] });
    await onPlantstore.db('plantstore').command({ createUser: 'all', pwd: password, roles: ['all'] });
    const without = [resource('events'), ...ROLE.privileges.slice(1)];
    await onPlantstore.db('plantstore').command({ ...ROLE, privileges: without });
    await onPlantstore.db('plantstore').command({ createUser: 'service', pwd: password, roles: ['plantstore'] });
    const anything = { resource: { db: 'plantstore', collection: '' }, actions: ['anyAction'] };
    await onPlantstore.db('plantstore').command({ createRole: 'any', privileges: [anything], roles: [] });
    await onPlantstore.db('plantstore').command({ createUser: 'any', pwd: password, roles: ['any'] });
    await onPlantstore.db('plantstore').command({ ...AUDITOR, roles: [] });
    await onPlantstore.db('plantstore').command({ createUser: 'auditor', pwd: password, roles: ['auditor'] });
    const uri = set.uri('plantstore').replace('//', `//service:${password}@`);
    const told = async (user: string, args = ['audit', 'head'], at = set.uri('plantstore')) => {
      const { code, stderr } = await command(args, { MONGODB_URI: at.replace('//', `//${user}`) });
      return [code, stderr];
    };
    const wrongUser = expect.stringMatching(/^plantstore: MongoDB refuses the user of MONGODB_URI: correct its name/);
    expect(await told('service:wrong@')).toEqual([1, wrongUser]);
    expect(await told(`admin:${admin}@`)).toEqual([1, wrongUser]);
    expect(await told('')).toEqual([1, expect.stringContaining('MongoDB asks for a user: put USER:PASSWORD@ before')]);
    const may = (what: string) => `plantstore: the user of MONGODB_URI may not run ${what}: give it the role of docs/`;
    expect(await told(`service:${password}@`, ['audit', 'head'], `${set.uri('other')}&authSource=plantstore`)).toEqual([
      1,
      expect.stringContaining(may('find on events')),
    ]);
    await expect(openMongo(uri)).rejects.toThrow(/may not run createIndexes on events: give it the role of docs/);
    await onPlantstore.db('plantstore').command({ updateRole: 'plantstore', privileges: ROLE.privileges });
    await onPlantstore.close();
    const [one, two] = [await openMongo(uri, { strictReads: true }), await openMongo(uri)];
    await append(one, added('alice', 1n));
    expect(await one.lease('projector', 'one', 1)).toBe(true);
    while (!(await two.lease('projector', 'two', 60_000)));
    expect(await project(two)).toBe(1);
    expect((await readModel(one, 'alice')).rows).toHaveLength(1);
    await two.lease('projector', 'two', 0);
    for await (const _ of repairReadModel(one));
    expect((await two.list('alice', undefined, 9)).rows).toHaveLength(1);
    expect(await one.missingRights()).toEqual({ service: [], erasure: ['update on events'] });
    const mayAll = await openMongo(set.uri('plantstore').replace('//', `//all:${password}@`));
    expect(await mayAll.missingRights()).toEqual({ service: [], erasure: [] });
    await mayAll.close();
    await expect(one.erasurePublished(1, true)).rejects.toThrow(/may not run update on events: give it the role/);
    expect(await one.unfinished()).toEqual([]);
    await one.close();
    await two.close();
    const doctor = async (user: string) => {
      const { stdout } = await command(['doctor'], { MONGODB_URI: set.uri('plantstore').replace('//', `//${user}@`) });
      return stdout.split('\n').filter((line) => /^\w+ +store /.test(line));
    };
    const readable = expect.stringMatching(/^ok +store .* is readable/);
    expect(await doctor(`service:${password}`)).toEqual([
      readable,
      expect.stringMatching(/^warn +store .* may not update on events, so only another one can erase owners: run /),
    ]);
    expect(await doctor(`any:${password}`)).toEqual([readable]);
    expect(await doctor(`auditor:${password}`)).toEqual([
      readable,
      expect.stringMatching(
        /^fail .* may not insert on events, find on leases, .*, insert on plants, update on plants, remove on plants: give it the role of docs\/mongodb.md/,
      ),
    ]);
    const refused = await command(['erase', '--owner', 'alice'], { MONGODB_URI: uri });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('may not update `events`') });
    const reader = await openMongo(set.uri('plantstore').replace('//', `//auditor:${password}@`), { readOnly: true });
    expect(await readLog(reader)).toHaveLength(1);
    expect((await reader.head()).position).toBe(1);
    expect((await readModel(reader, 'alice')).rows).toHaveLength(1);
    await expect(append(reader, added('alice', 2n))).rejects.toThrow(RefusedAppendError);
    expect(await told(`auditor:${password}@`, ['audit', 'verify'])).toEqual([0, '']);
    expect(await told(`auditor:${password}@`, ['audit', 'rebuild'])).toEqual([
      1,
      expect.stringContaining(may('update on meta')),
    ]);
    expect(await told(`half:${password}@`, ['audit', 'history', '--owner', 'alice', '--id', '1'])).toEqual([
      1,
      expect.not.stringContaining('alice'),
    ]);
    expect(await told(`half:${password}@`)).toEqual([1, expect.stringContaining(may('find on events'))]);
    await reader.close();
    const asService = new MongoClient(uri);
    const events = asService.db('plantstore').collection('events');
    await expect(events.updateMany({}, { $set: { owner: 'mallory' } })).rejects.toThrow(/not authorized/);
    await expect(events.deleteMany({})).rejects.toThrow(/not authorized/);
    await asService.close();
    const byAdmin = {
      MONGODB_URI: set.uri('plantstore').replace('//', `//admin:${admin}@`).replace('?', '?authSource=admin&'),
    };
    expect((await command(['doctor'], byAdmin)).stdout).not.toMatch(/may not/);
    expect(await command(['erase', '--owner', 'alice'], byAdmin)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\{"position":2,"events":1,"subjectKey":"[0-9a-f]{32}"\}\n$/),
    });
  });
});
