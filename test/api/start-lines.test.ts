import { generateKeyPairSync } from 'node:crypto';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { HAS_MONGODB, newDatabase } from '../store/open-mongo.ts';
import { command } from '../support/command.ts';
import { client } from '../support/http.ts';
import { type LocalService, startLocalService } from '../support/local-service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let data: string;
beforeEach(() => {
  data = temporaryDirectory(onTestFinished);
});

const opened = (service: LocalService) => service.logged(({ msg }) => /^the log is open/.test(String(msg)));

describe('which log was opened', () => {
  test('a new one, and later the same with its head', async () => {
    const store = `SQLite ${join(data, 'plantstore.sqlite')}`;
    const log = expect.stringMatching(/^[0-9a-f]{32}$/);
    let id: unknown;
    {
      await using service = await startLocalService({ DATA_DIR: data });
      const line = await opened(service);
      expect(line).toMatchObject({ msg: 'the log is open; it is new, and has no events', store, log, position: 0 });
      id = line.log;
      await client(service.url, await service.token('alice'))('POST', '/plants', { body: '{"id":1,"name":"Fern"}' });
    }
    await using service = await startLocalService({ DATA_DIR: data });
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(await opened(service)).toMatchObject({ msg: 'the log is open', store, log: id, position: 1, hash });
  });

  test.runIf(HAS_MONGODB)('on MongoDB: the servers and the database, and not the user', async () => {
    const MONGODB_URI = newDatabase();
    await using service = await startLocalService({ DATA_DIR: data, MONGODB_URI });
    const [, hosts, database] = /\/\/([^/]+)\/([^?]+)/.exec(MONGODB_URI)!;
    expect(await opened(service)).toMatchObject({ store: `MongoDB ${hosts}/${database}`, position: 0 });
  });
});

test('another key than the one that signed last is told by doctor, by a command that signs, and by the start', async () => {
  const AUDIT_SIGNING_KEY = generateKeyPairSync('ed25519').privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }) as string;
  {
    await using service = await startLocalService({ DATA_DIR: data });
    await service.signed();
  }
  const told = `the log is not compared with the last checkpoint that was signed here, in ${join(data, 'last-checkpoint.txt')}: `;
  const doctor = async (settings: Record<string, string>) =>
    (await command(['doctor'], { DATA_DIR: data, ...settings })).stdout;
  expect(await doctor({})).not.toContain('checkpoint');
  expect(await doctor({ AUDIT_SIGNING_KEY })).toContain(`warn  checkpoint  ${told}another key signed it; `);
  expect(await doctor({ LOG_ORIGIN: 'log.example' })).toContain(
    `warn  checkpoint  ${told}it is of the log plantstore/`,
  );
  {
    await using service = await startLocalService({ DATA_DIR: data, LOG_ORIGIN: 'log.example' });
    await service.logged(({ msg }) => String(msg).startsWith(`${told}it is of the log plantstore/`));
    await service.signed();
  }
  const { stderr } = await command(['audit', 'checkpoint'], {
    DATA_DIR: data,
    AUDIT_SIGNING_KEY,
    LOG_ORIGIN: 'log.example',
  });
  expect(stderr).toContain(`warning: ${told}another key signed it; `);
  rmSync(join(data, 'audit-key.pem'));
  expect(await doctor({})).toContain(
    `${join(data, 'last-checkpoint.txt')} is gone: restore ${join(data, 'audit-key.pem')}, `,
  );
});

test('a log that is shorter than what was signed is told by doctor, before it is started', async () => {
  const LOG_ORIGIN = 'log.example';
  const backup = join(data, 'backup');
  {
    await using service = await startLocalService({ DATA_DIR: data, LOG_ORIGIN });
    expect(await command(['backup', backup], { DATA_DIR: data })).toMatchObject({ code: 0 });
    await client(service.url, await service.token('alice'))('POST', '/plants', { body: '{"id":1,"name":"Fern"}' });
    expect(await command(['audit', 'checkpoint'], { DATA_DIR: data, LOG_ORIGIN })).toMatchObject({ code: 0 });
  }
  const { stdout: before } = await command(['doctor'], { DATA_DIR: data, LOG_ORIGIN });
  expect(before).not.toContain('checkpoint');
  copyFileSync(backup, join(data, 'plantstore.sqlite'));
  const { code, stdout } = await command(['doctor'], { DATA_DIR: data, LOG_ORIGIN });
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /^fail {2}checkpoint {2}a checkpoint of 1 event was signed, and the log has 0: if an older backup was restored, follow/m,
  );
});
