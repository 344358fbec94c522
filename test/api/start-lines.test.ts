import { generateKeyPairSync } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
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

test('a log without events is not served where another was signed, as with a mistyped MONGODB_URI', async () => {
  {
    await using service = await startLocalService({ DATA_DIR: data });
    await client(service.url, await service.token('alice'))('POST', '/plants', { body: '{"id":1,"name":"Fern"}' });
    const checkpoint = async () => (await fetch(`${service.url}/log/checkpoint`)).text();
    await expect.poll(checkpoint).toMatch(/^.*\n1\n/);
  }
  for (const name of readdirSync(data).filter((file) => file.startsWith('plantstore.sqlite'))) rmSync(join(data, name));
  const why =
    /has no events, but a checkpoint of 1 event of the log plantstore\/[0-9a-f]{32} was signed here: correct MONGODB_URI or DATA_DIR, .*move \S*last-checkpoint.txt away/;
  const refused = await command(['serve'], { DATA_DIR: data, PORT: '0', GRPC_PORT: '0', ADMIN_PORT: '0' });
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(why) });
  expect((await command(['doctor'], { DATA_DIR: data })).stdout).toMatch(why);
  rmSync(join(data, 'last-checkpoint.txt'));
  await using service = await startLocalService({ DATA_DIR: data });
  expect(await opened(service)).toMatchObject({ position: 0 });
});

test('another key than the one that signed last is told by a command that signs, and by the start', async () => {
  const AUDIT_SIGNING_KEY = generateKeyPairSync('ed25519').privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }) as string;
  {
    await using service = await startLocalService({ DATA_DIR: data });
    await service.signed();
  }
  const told = `the log is not compared with the last checkpoint that was signed here, in ${join(data, 'last-checkpoint.txt')}: `;
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
});
