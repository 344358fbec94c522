import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Document, MongoClient } from 'mongodb';
import { expect, onTestFinished, test } from 'vitest';
import { DATABASE_FILE } from '../../../src/log/sqlite/store.ts';
import { dropDatabase, HAS_MONGODB, newDatabase } from '../../store/open-mongo.ts';
import { command } from '../../support/command.ts';
import { client } from '../../support/http.ts';
import { startService } from '../../support/service.ts';
import { storeState } from '../../support/store-state.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/**
 * Loses the log's id under a service, and expects it to go on with what does not need the id, and `doctor` to find the
 * loss until the id is back. `refusal`: why no instance starts then.
 */
async function expectFound(
  environment: Readonly<Record<string, string>>,
  lose: () => Promise<() => Promise<unknown>>,
  refusal: string,
): Promise<void> {
  await using service = await startService(environment);
  const alice = client(service.url, await service.token('alice'));
  const add = async (id: number) => (await alice('POST', '/plants', { body: `{"id":${id},"name":"Fern"}` })).status;
  expect(await add(1)).toBe(200);
  const restore = await lose();
  // It has opened the key of the checkpoints at its start, and goes on to sign with it.
  const isServed = async (path: string) => (await alice('GET', `/log/${path}`)).status === 200;
  for (const path of ['checkpoint', 'key', 'proof/1'])
    await expect.poll(() => isServed(path), { timeout: 10_000 }).toBe(true);
  expect(await add(2)).toBe(200);
  expect(JSON.parse((await alice('GET', '/plants')).text)).toHaveLength(2);
  const lost = await command(['doctor'], environment);
  expect(lost.code).toBe(1);
  expect(lost.stdout).toContain(refusal);
  await restore();
  expect((await command(['doctor'], environment)).stdout).not.toContain(refusal);
  expect((await alice('GET', '/log/checkpoint')).status).toBe(200);
}

test.each([
  ['row', 'DELETE FROM log'],
  ['table', 'DROP TABLE log'],
])('a lost %s with the id of the log, on SQLite, is found by doctor, and the instance goes on', async (_, sql) => {
  const DATA_DIR = temporaryDirectory(onTestFinished);
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
  await expectFound({ DATA_DIR }, lose, 'the store has lost the id of its log');
});

test('an instance that starts without the id says that it signs nothing, until the id is back', async () => {
  const DATA_DIR = temporaryDirectory(onTestFinished);
  await (await startService({ DATA_DIR })).stop();
  const db = new DatabaseSync(join(DATA_DIR, DATABASE_FILE), { timeout: 10_000 });
  onTestFinished(() => db.close());
  const { id } = db.prepare('DELETE FROM log RETURNING id').get() as { id: string };
  await using service = await startService({ DATA_DIR });
  const state = () => storeState(service, { stopped: 'signing_stopped' });
  const detail = 'the store has lost the id of its log (the row of log): restore a backup';
  const store = { name: 'store', ready: true, degraded: true, detail };
  await expect.poll(state).toEqual({ status: 200, store, stopped: '1' });
  db.prepare('INSERT INTO log VALUES (?)').run(id);
  await expect.poll(state, { timeout: 20_000 }).toMatchObject({ status: 200, store: { ready: true }, stopped: '0' });
  expect(await state()).not.toHaveProperty('store.detail');
});

test.runIf(HAS_MONGODB)(
  'a lost collection meta is found by doctor; strict reads go on, and no other id is made',
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
        const started = await command(['serve'], { ...environment, PORT: '0', GRPC_PORT: '0', ADMIN_PORT: '0' });
        expect(started.code).toBe(1);
        expect(started.stderr + started.stdout).toContain(refusal);
        const verified = await command(['audit', 'verify'], environment);
        expect(verified).toMatchObject({ code: 1, stdout: expect.stringContaining(`storage      NO   ${refusal}`) });
        expect(verified.stdout).toContain('positions    NO   not asked: the database cannot be opened');
        await meta.insertMany(documents.filter(({ _id }) => _id !== 'primary'));
      };
    };
    await expectFound(environment, lose, refusal);
    await mongo.close();
    await dropDatabase(uri);
  },
);
