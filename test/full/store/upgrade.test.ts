import { randomBytes, randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BSON, type Document, MongoClient } from 'mongodb';
import { describe, expect, onTestFinished, test } from 'vitest';
import { formerDirectory, loadFormer } from '../../store/former.ts';
import { FormerMongo } from '../../store/former-mongo.ts';
import { HAS_MONGODB } from '../../store/open-mongo.ts';
import { command } from '../../support/command.ts';
import { ReplicaSet } from '../../support/replica-set.ts';
import { Service } from '../../support/service.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Commands of the upgrade that change the database. */
const WRITES = ['update', 'delete', 'insert', 'renameCollection', 'create', 'drop'];

const bytesOf = (documents: Document[]): Buffer => Buffer.from(BSON.serialize({ documents }));

const resource = (collection: string, ...actions: string[]) => ({
  resource: { db: 'plantstore', collection },
  actions: ['find', 'insert', ...actions],
});

test('a start of the service on a data directory of 1.0.0 upgrades it, says so, and serves it', async () => {
  const directory = formerDirectory();
  const environment = { DATA_DIR: directory, LOG_ORIGIN: 'log.example.org/fixture' };
  {
    await using service = new Service(environment);
    await service.ready();
    expect(service.output).toMatch(/release 1\.0\.0 and is being upgraded(.|\n)*571 events copied(.|\n)*is upgraded/);
    const headers = { authorization: `Bearer ${await service.token('alice')}` };
    const plants = (await (await fetch(`${service.url}/plants`, { headers })).json()) as { name: string }[];
    expect(plants.map(({ name }) => name)).toEqual([
      'The first id',
      '',
      'Fern again',
      'Monstera 🌿 “deliciosa” \u0000\n\\',
      'The last id',
    ]);
  }
  const verified = await command(['audit', 'verify', '--json'], environment);
  expect(verified.code, verified.stdout).toBe(0);
  rmSync(directory, { recursive: true });
});

describe.runIf(HAS_MONGODB)('the upgrade of a database of 1.0.0', () => {
  /** A proxy in front of the database, and the URI that leads through it. */
  async function proxied({ uri }: FormerMongo) {
    const { host, pathname } = new URL(uri.replace(/,[^/]*/, ''));
    const proxy = await TcpProxy.start(Number(host.split(':')[1]));
    return { proxy, behind: `mongodb://127.0.0.1:${proxy.port}${pathname}?directConnection=true` };
  }

  test('goes on by itself where answers are lost: of each command the first, the second, the fourth and so on', async () => {
    await using former = await FormerMongo.load();
    const { proxy, behind } = await proxied(former);
    const sent = new Map<string, number>();
    proxy.fate = (chunk) => {
      const name = ['find', ...WRITES].find((one) => chunk.includes(`\x02${one}\0`));
      if (name === undefined) return 'forward';
      const number = (sent.get(name) ?? 0) + 1;
      sent.set(name, number);
      return Number.isInteger(Math.log2(number)) ? 'lose reply' : 'forward';
    };
    const faults: string[] = [];
    await former.upgrade(behind, (fault) => faults.push(fault));
    expect(faults.length).toBeGreaterThan(10);
    await former.expectUpgraded();
    await proxy.close();
  });

  test('goes on wherever it was killed, after each write', async () => {
    await using former = await FormerMongo.load();
    const { proxy, behind } = await proxied(former);
    const kill = (fault: string) => {
      throw new Error(fault);
    };
    // The first element of a command: an int32 or a text, and its name.
    const isWrite = (chunk: Buffer) => WRITES.some((name) => chunk.includes(`\x02${name}\0`));
    const old = bytesOf(await former.documents('events'));
    let points = 0;
    // A request that is lost would leave what the reply before it, lost, has left.
    for (let isOver = false; !isOver; points++) {
      await former.reload();
      await former.rebuild();
      let writes = 0;
      proxy.fate = (chunk) => (isWrite(chunk) && writes++ === points ? 'lose reply' : 'forward');
      const fault = await former.upgrade(behind, kill).catch((error: Error) => error);
      isOver = fault === undefined && writes <= points;
      if ((await former.schema()).version !== 5)
        expect(bytesOf(await former.documents('events')).equals(old)).toBe(true);
      await former.upgrade();
      await former.expectUpgraded();
    }
    // One for the version, two for events, one for each erasure that was only noted, the drop of the notes, two
    // indexes, the collection of the rows, the checkpoint, the tree, what is left, those of the repair, the end; and
    // the last time none. Renewals of the repair's lease come on top.
    expect(points).toBeGreaterThan(20);
    await proxy.close();
  });

  test('needs a majority of the members, and waits for no other', async () => {
    const set = await ReplicaSet.start(3);
    onTestFinished(() => set.remove());
    const MONGODB_URI = set.uri('plantstore');
    await loadFormer(MONGODB_URI);
    const primary = await set.primary();
    await set.members.find((member) => member !== primary)!.kill();
    const { code, stderr } = await command(['upgrade'], { MONGODB_URI });
    expect(stderr).not.toContain('waiting for MongoDB');
    expect(code).toBe(0);
    expect(await command(['audit', 'verify'], { MONGODB_URI })).toMatchObject({ code: 0 });
  }, 60_000);

  test('a user without the rights is told so, and nothing is done', async () => {
    const directory = temporaryDirectory(onTestFinished);
    const keyFile = join(directory, 'key');
    writeFileSync(keyFile, randomBytes(96).toString('base64'), { mode: 0o400 });
    const set = await ReplicaSet.start(1, '--keyFile', keyFile);
    const [password, pwd] = [randomUUID(), randomUUID()];
    await set.command({ createUser: 'admin', pwd, roles: ['root'] });
    const asAdmin = set.uri('plantstore').replace('//', `//admin:${pwd}@`).replace('?', '?authSource=admin&');
    const admin = new MongoClient(asAdmin);
    try {
      await loadFormer(asAdmin);
      const db = admin.db('plantstore');
      await db.renameCollection('plants', 'plants_3');
      const named = { collection: 'plants_3', rebuilds: 3 };
      await db.collection<{ _id: string }>('checkpoints').updateOne({ _id: 'plants' }, { $set: named });
      // The role that docs/mongodb.md gave the service in 1.0.0.
      const role = [
        resource('events', 'createCollection', 'createIndex'),
        ...['checkpoints', 'leases', 'meta'].map((name) => resource(name, 'update', 'createCollection')),
        ...['erasures', 'tree'].map((name) => resource(name, 'update', 'remove', 'createCollection')),
        ...['plants', 'plants_3'].map((name) => resource(name, 'remove', 'createCollection', 'dropCollection')),
      ];
      await db.command({ createRole: 'plantstore', privileges: role, roles: [] });
      await db.command({ createUser: 'service', pwd: password, roles: ['plantstore'] });
      const MONGODB_URI = set.uri('plantstore').replace('//', `//service:${password}@`);
      await db.command({ createRole: 'upgrade', privileges: [], roles: [] });
      await db.command({ grantRolesToUser: 'service', roles: ['upgrade'] });
      // What docs/mongodb.md says of upgrading, and what its role of the service has had since.
      const dropped = ['erasures', 'checkpoints'].map((name) => resource(name, 'dropCollection'));
      for (const privilege of [resource('events', 'update'), ...dropped, resource('plants', 'update')]) {
        const refused = await command(['upgrade'], { MONGODB_URI });
        expect(refused).toMatchObject({
          code: 1,
          stderr: expect.stringMatching(
            /^plantstore: the database user may not upgrade the store: .*docs\/mongodb\.md/,
          ),
        });
        expect(await db.collection<{ _id: string }>('meta').findOne({ _id: 'schema' })).toMatchObject({ version: 4 });
        await db.command({ grantPrivilegesToRole: 'upgrade', privileges: [privilege] });
      }
      expect(await command(['upgrade'], { MONGODB_URI })).toMatchObject({ code: 0 });
      expect(await command(['audit', 'verify'], { MONGODB_URI })).toMatchObject({ code: 0 });
    } finally {
      await admin.close();
      await set.remove();
    }
  });
});
