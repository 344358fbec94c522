import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@connectrpc/connect';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { AuditService } from '../../../gen/plantstore/v1/audit_service_pb.ts';
import { PlantStoreService } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { DATABASE_FILE, openSqlite } from '../../../src/log/sqlite/store.ts';
import type { Store } from '../../../src/log/store.ts';
import { EMPTY_ROOT } from '../../../src/tlog/hash.ts';
import { CHECKPOINT_INTERVAL } from '../../../src/transparency/checkpoints.ts';
import { openSqliteDatabase, said } from '../../store/sqlite-database.ts';
import { command } from '../../support/command.ts';
import { fill } from '../../support/fill.ts';
import { client, expectError } from '../../support/http.ts';
import { startLocalService } from '../../support/local-service.ts';
import { reasonOf, TRANSPORTS } from '../../support/protocols.ts';
import type { RunningService } from '../../support/running-service.ts';
import { storeState } from '../../support/store-state.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

let directory: string;

beforeEach(() => {
  directory = temporaryDirectory(onTestFinished);
});

/** The result of some work on the store in the directory. */
async function stored<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const store = openSqlite(directory);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

const write = (events: number): Promise<void> => stored((store) => fill(store, events, 'alice'));

/** Deletes an event by hand, behind the back of the service. */
async function lose(position: number): Promise<void> {
  const database = openSqliteDatabase(directory);
  await database.removeEvent(position);
  await database.close();
}

/** Expects that the service has logged why, at the level error. */
const expectLogged = async (service: RunningService, why: string): Promise<void> => {
  await service.logged((line) => line.level === 'error' && JSON.stringify(line).includes(why));
};

describe('a log that was damaged', () => {
  test.each(['TRIGGER events_are_only_erased', 'TRIGGER events_are_not_deleted', 'INDEX events_that_erase'])(
    'nobody writes to a database whose %s was dropped; it can be verified and moved',
    async (object) => {
      await write(3);
      const database = new DatabaseSync(join(directory, DATABASE_FILE));
      database.exec(`DROP ${object}`);
      database.close();
      const environment = { DATA_DIR: directory, PORT: '0', GRPC_PORT: '0', ADMIN_PORT: '0' };
      for (const args of [['serve'], ['audit', 'rebuild'], ['erase', '--owner', 'alice']]) {
        const { code, stderr } = await command(args, environment);
        expect([args, code]).toEqual([args, 1]);
        expect(stderr).toContain(
          `plantstore.sqlite is not as this release makes it (gone: ${object.split(' ')[1]}): run plantstore audit verify`,
        );
      }
      for (const asked of [['audit', 'verify'], ['doctor']]) {
        const { code, stdout } = await command(asked, environment);
        expect([asked, code]).toEqual([asked, 1]);
        expect(stdout).toContain(`gone: ${object.split(' ')[1]}`);
      }
      const exported = join(directory, 'log.ndjson');
      writeFileSync(exported, (await command(['audit', 'export'], environment)).stdout);
      const moved = { ...environment, DATA_DIR: join(directory, 'moved') };
      expect(await command(['audit', 'import', exported], moved)).toMatchObject({ code: 0 });
      await using service = await startLocalService(moved);
      const list = await client(service.url, await service.token('alice'))('GET', '/plants');
      expect(JSON.parse(list.text)).toHaveLength(3);
    },
  );

  test('the operator learns of it, once, however many ask; the instance goes on with what is whole', async () => {
    await write(600);
    await using service = await startLocalService({ DATA_DIR: directory });
    const state = () => storeState(service, { broken: 'log_broken' });
    await service.signed();
    expect(await state()).toEqual({ status: 200, store: { name: 'store', ready: true }, broken: '0' });
    await lose(550);
    const token = await service.token('alice');
    for (let asked = 0; asked < 3; asked++) expectError(await client(service.url)('GET', '/log/proof/560'), 500, 13);
    const headers = { authorization: `Bearer ${token}` };
    for (const { open } of TRANSPORTS)
      await createClient(PlantStoreService, open(service))
        .getReceipt({ position: 560n }, { headers })
        .catch(() => {});
    await expectLogged(service, 'the stored log is not what was written');
    const detail = 'the log is broken at position 550: the next event has position 551';
    const store = { name: 'store', ready: true, degraded: true, detail };
    expect(await state()).toEqual({ status: 200, store, broken: '1' });
    const send = client(service.url, token);
    expect((await send('POST', '/plants', { body: '{"id":7000,"name":"Fern"}' })).status).toBe(200);
    expect((await send('GET', '/plants?limit=5')).status).toBe(200);
    expect(service.logs.filter(({ msg }) => String(msg).startsWith('the stored log is not'))).toHaveLength(1);
    const [PORT, ADMIN_PORT] = [new URL(service.url).port, new URL(service.adminUrl).port];
    const doctor = await command(['doctor'], { DATA_DIR: directory, PORT, ADMIN_PORT });
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toMatch(
      /^fail +service +it runs, but store: .*broken at position 550: .* \("What to do when" in docs\/operations\.md\)$/m,
    );
  });

  test('no reader of the log gets past an event that is lost as if nothing were missing', async () => {
    await write(600);
    await using service = await startLocalService({ DATA_DIR: directory });
    await lose(550);
    const headers = { authorization: `Bearer ${await service.token('alice', 'plants:audit')}` };
    for (const { open } of TRANSPORTS) {
      const audit = createClient(AuditService, open(service));
      const read: bigint[] = [];
      const reading = async () => {
        const start = { case: 'afterPosition', value: 500n } as const;
        for await (const { records } of audit.readEvents({ start }, { headers }))
          read.push(...records.map(({ event }) => event!.position));
      };
      expect(await reasonOf(reading())).toBe('INTERNAL');
      expect(read.every((position) => position < 550n)).toBe(true);
      const listing = async () => {
        for await (const _ of audit.listPlantsAsOf({}, { headers }));
      };
      expect(await reasonOf(listing())).toBe('INTERNAL');
    }
    await expectLogged(service, 'the log is broken at position 550');
    const { code, stdout, stderr } = await command(['audit', 'export', '--after', '500'], { DATA_DIR: directory });
    expect(code).toBe(1);
    expect(stderr).toContain('the log is broken at position 550');
    expect(stdout).not.toContain('"position":551');
  });

  test('content that was changed reaches neither a reader of events nor, by a rebuild, the lists', async () => {
    await write(600);
    const database = openSqliteDatabase(directory);
    await database.change(550, said({ name: 'EVIL' }));
    await database.close();
    const rebuilt = await command(['audit', 'rebuild'], { DATA_DIR: directory });
    expect(rebuilt.stderr).toContain('the log is broken at position 550');
    await using service = await startLocalService({ DATA_DIR: directory });
    const token = await service.token('alice', 'plants:read plants:audit');
    const list = await client(service.url, token)('GET', '/plants?limit=600');
    expect([list.status, list.text.includes('EVIL')]).toEqual([200, false]);
    const reading = async () => {
      const audit = createClient(AuditService, TRANSPORTS[0]!.open(service));
      for await (const _ of audit.readEvents({}, { headers: { authorization: `Bearer ${token}` } }));
    };
    expect(await reasonOf(reading())).toBe('INTERNAL');
    await expectLogged(service, 'the log is broken at position 550');
  });

  test('an export has all of a log with a changed content, and says at its end that it was changed', async () => {
    await write(600);
    const database = openSqliteDatabase(directory);
    await database.change(550, said({ name: 'EVIL' }));
    await database.close();
    const audit = async (...options: string[]) => {
      const { code, stdout, stderr } = await command(['audit', 'export', ...options], { DATA_DIR: directory });
      return { code, stderr: stderr.trim(), lines: stdout.split('\n').length - 1 };
    };
    const stderr = 'plantstore: the log is broken at position 550: its content does not match its commitment';
    expect(await audit()).toEqual({ code: 1, stderr, lines: 600 });
    expect(await audit('--format', 'ndjson', '--public')).toEqual({ code: 1, stderr, lines: 600 });
    expect(await audit('--after', '550')).toEqual({ code: 0, stderr: '', lines: 50 });
    expect(await audit('--after', '540', '--follow')).toEqual({ code: 1, stderr, lines: 9 });
  });

  test('the operator learns of it from a verification that says no', async () => {
    await write(600);
    await using service = await startLocalService({ DATA_DIR: directory });
    await lose(550);
    const headers = { authorization: `Bearer ${await service.token('alice', 'plants:audit')}` };
    for await (const _ of createClient(AuditService, TRANSPORTS[0]!.open(service)).verifyLog({}, { headers }));
    await expectLogged(service, 'the stored log is not what was written');
  });

  test.each([
    ['read_model', `UPDATE plants SET name = 'EVIL' WHERE id = 2`, ''],
    ['storage', 'CREATE TABLE foreign_one (x)', 'DROP TABLE foreign_one'],
  ])('a no of a verification to %s makes the instance degraded until one says yes', async (question, damage, mend) => {
    await write(3);
    await using service = await startLocalService({ DATA_DIR: directory });
    const headers = { authorization: `Bearer ${await service.token('alice', 'plants:audit')}` };
    const audit = createClient(AuditService, TRANSPORTS[0]!.open(service));
    const verify = async () => {
      for await (const _ of audit.verifyLog({}, { headers }));
    };
    const state = () => storeState(service, { failed: 'verification_failed' });
    const store = { name: 'store', ready: true };
    const well = { status: 200, store, failed: '0' };
    const rebuild = await command(['audit', 'rebuild'], { DATA_DIR: directory });
    expect(rebuild.code).toBe(0);
    await verify();
    expect(await state()).toEqual(well);
    const execute = (sql: string) => {
      using database = new DatabaseSync(join(directory, DATABASE_FILE));
      database.exec(sql);
    };
    execute(damage);
    for (const _ of ['once', 'again']) await verify();
    const detail = `a verification said no (${question}): run plantstore audit verify`;
    expect(await state()).toEqual({ status: 200, store: { ...store, degraded: true, detail }, failed: '1' });
    const said = () => service.logs.filter(({ msg }) => String(msg).startsWith('a verification'));
    expect(said()).toEqual([expect.objectContaining({ level: 'error', questions: [question] })]);
    execute(mend);
    expect((await command(['audit', 'rebuild'], { DATA_DIR: directory })).code).toBe(0);
    await verify();
    expect(await state()).toEqual(well);
    expect(said()).toHaveLength(2);
  });

  test('no proof, receipt, tile or bundle is served of an event that was changed while the service was stopped', async () => {
    await write(600);
    const database = openSqliteDatabase(directory);
    await database.change(300, () => ({ eventId: 'another' }));
    await database.close();

    await using service = await startLocalService({ DATA_DIR: directory });
    const send = client(service.url);
    // The nodes are what they were, so the checkpoint is right, and what does not rest on the block is proved.
    expect((await send('GET', '/log/checkpoint')).status).toBe(200);
    for (const path of ['proof/256', 'proof/513', 'tile/0/000', 'tile/entries/000', 'tile/1/000.p/2'])
      expect((await send('GET', `/log/${path}`)).status, path).toBe(200);
    for (const path of ['proof/300', 'proof/301', 'tile/0/001', 'tile/entries/001']) {
      const reply = await send('GET', `/log/${path}`);
      expectError(reply, 503, 14);
      expect(reply.headers['cache-control']).toBe('no-store');
    }
    const why = 'node 1 of the Merkle tree does not match its events';
    await expectLogged(service, why);
    const headers = { authorization: `Bearer ${await service.token('alice')}` };
    for (const { open } of TRANSPORTS)
      for (const position of [300n, 301n]) {
        const receipt = createClient(PlantStoreService, open(service)).getReceipt({ position }, { headers });
        expect(await reasonOf(receipt)).toBe('STORE_UNAVAILABLE');
      }
    expect(service.logs.filter((line) => JSON.stringify(line).includes('the stored log is not'))).toHaveLength(1);
    expect(await storeState(service, {})).toMatchObject({ store: { detail: expect.stringContaining(why) } });
    const printed = await command(['audit', 'receipt', '301'], { DATA_DIR: directory });
    expect(printed).toMatchObject({ code: 1, stdout: '' });
    expect(printed.stderr).toContain(why);
  });

  test('what was signed stays what it was, whatever is changed under the service', async () => {
    await write(600);
    await using service = await startLocalService({ DATA_DIR: directory });
    const send = client(service.url, await service.token('bob'));
    expect((await send('GET', '/log/checkpoint')).status).toBe(200);
    const database = openSqliteDatabase(directory);
    await database.putNode(0, EMPTY_ROOT);
    await database.change(590, () => ({ eventId: 'another' }));
    await database.close();
    // The tiles that it has are those that were signed, and an event that was changed makes no proof.
    expect((await send('GET', '/log/tile/1/000.p/2')).status).toBe(200);
    expectError(await send('GET', '/log/proof/590'), 503, 14);
    await expectLogged(service, 'differs from what the checkpoint of 600 events covers');
    // Of a newer tree nothing is signed.
    expect((await send('POST', '/plants', { body: '{"id":1,"name":"Fern"}' })).status).toBe(200);
    await sleep(2 * CHECKPOINT_INTERVAL);
    expectError(await send('GET', '/log/checkpoint'), 503, 14);
    await expectLogged(service, 'the log of 601 events does not extend the signed checkpoint of 600');
  });

  test('no receipt is made of an event, or a content, that was changed after its tile was read', async () => {
    await write(600);
    await using service = await startLocalService({ DATA_DIR: directory });
    expect((await client(service.url)('GET', '/log/proof/300')).status).toBe(200);
    const database = openSqliteDatabase(directory);
    await database.change(300, () => ({ eventId: 'another' }));
    await database.change(301, said({ name: 'Weed' }));
    await database.close();
    const headers = { authorization: `Bearer ${await service.token('alice')}` };
    for (const position of [300n, 301n]) {
      const receipt = createClient(PlantStoreService, TRANSPORTS[0]!.open(service)).getReceipt(
        { position },
        { headers },
      );
      expect(await reasonOf(receipt)).toBe('INTERNAL');
    }
    await expectLogged(service, 'the log is broken at position 300: it does not match the Merkle tree');
    await expectLogged(service, 'the log is broken at position 301: its content does not match its commitment');
  });
});
