import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Document, MongoClient } from 'mongodb';
import { expect, test } from 'vitest';
import { DATABASE_FILE } from '../../../src/log/sqlite/store.ts';
import { dropDatabase, HAS_MONGODB, newDatabase } from '../../store/open-mongo.ts';
import { client } from '../../support/http.ts';
import { plantstore } from '../../support/run.ts';
import { type Service, startService } from '../../support/service.ts';
import { storeState } from '../../support/store-state.ts';

/** What the service says of its store: to a load balancer, and in metrics. */
const state = (service: Service) => storeState(service, { lost: 'log_id_lost' });

const well = { status: 200, store: { name: 'store', ready: true }, lost: '0' };

/**
 * Loses the log's id under a service, expects it to tell once, to go on with what does not need the id, and to be well
 * once the id is back. `where`: what is lost; `refusal`: why no instance starts then.
 */
async function expectTold(
  environment: Readonly<Record<string, string>>,
  lose: () => Promise<() => Promise<unknown>>,
  where: string,
  refusal: string,
): Promise<void> {
  await using service = await startService(environment);
  const alice = client(service.url, await service.token('alice'));
  const add = async (id: number) => (await alice('POST', '/plants', { body: `{"id":${id},"name":"Fern"}` })).status;
  expect(await add(1)).toBe(200);
  expect(await state(service)).toEqual(well);
  const restore = await lose();
  const detail = `the store has lost the id of its log (${where}): restore a backup`;
  await expect
    .poll(() => state(service), { timeout: 10_000 })
    .toEqual({ status: 200, store: { name: 'store', ready: true, degraded: true, detail }, lost: '1' });
  // It has opened the key of the checkpoints at its start, and goes on to sign with it.
  for (const path of ['checkpoint', 'key', 'proof/1']) expect((await alice('GET', `/log/${path}`)).status).toBe(200);
  expect(await add(2)).toBe(200);
  expect(JSON.parse((await alice('GET', '/plants')).text)).toHaveLength(2);
  expect(service.logs.filter((line) => JSON.stringify(line).includes('has lost the id'))).toMatchObject([
    { level: 'error', msg: 'the log has lost its id', err: { message: detail } },
  ]);
  const doctor = await plantstore(['doctor'], environment);
  expect(doctor.code).toBe(1);
  expect(doctor.stdout).toContain(refusal);

  await restore();
  await expect.poll(() => state(service), { timeout: 10_000 }).toEqual(well);
  await service.logged(({ msg }) => msg === 'the log has its id again');
  expect((await alice('GET', '/log/checkpoint')).status).toBe(200);
}

test.each([
  ['row', 'DELETE FROM log', 'the store has lost the id of its log'],
  ['table', 'DROP TABLE log', 'plantstore.sqlite: no such table: log'],
])('a lost %s with the id of the log, on SQLite, is told of once, until it is back', async (_, sql, refusal) => {
  const DATA_DIR = mkdtempSync(join(tmpdir(), 'plantstore-id-'));
  const lose = async () => {
    const db = new DatabaseSync(join(DATA_DIR, DATABASE_FILE), { timeout: 10_000 });
    const { id } = db.prepare('SELECT id FROM log').get() as { id: string };
    db.exec(sql);
    return async () => {
      db.exec('CREATE TABLE IF NOT EXISTS log (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID');
      db.prepare('INSERT INTO log VALUES (?)').run(id);
      db.close();
    };
  };
  await expectTold({ DATA_DIR }, lose, 'the row of log', refusal);
  rmSync(DATA_DIR, { recursive: true });
});

test.runIf(HAS_MONGODB)(
  'a lost collection meta is told of once, until it is back; strict reads go on, and no other id is made',
  async () => {
    const uri = newDatabase();
    const mongo = new MongoClient(uri);
    const meta = mongo.db().collection<Document & { _id: string }>('meta');
    const environment = { MONGODB_URI: uri, STRICT_READS: 'true' };
    const refusal = 'the store has lost the version of its schema (schema in meta): restore a backup';
    const lose = async () => {
      const documents = await meta.find().toArray();
      await meta.drop();
      return async () => {
        // A read confirms the primary by a write to it, or confirms nothing.
        expect(await meta.findOne({ _id: 'primary' })).toMatchObject({ confirmations: expect.anything() });
        const started = await plantstore(['serve'], { ...environment, PORT: '0', GRPC_PORT: '0', ADMIN_PORT: '0' });
        expect(started.code).toBe(1);
        expect(started.stderr + started.stdout).toContain(refusal);
        await meta.insertMany(documents.filter(({ _id }) => _id !== 'primary'));
      };
    };
    await expectTold(environment, lose, 'log in meta', refusal);
    await mongo.close();
    await dropDatabase(uri);
  },
);
