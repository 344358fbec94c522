import { generateKeyPairSync } from 'node:crypto';
import { closeSync, mkdirSync, mkdtempSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DATABASE_FILE, openSqlite } from '../../../src/log/sqlite/store.ts';
import { noteSigner } from '../../../src/tlog/signer.ts';
import { formatVerifierKey } from '../../../src/tlog/verifier-key.ts';
import { fill } from '../../support/fill.ts';
import { plantstore, run } from '../../support/run.ts';
import { type Service, startService } from '../../support/service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const EMPTY = temporaryDirectory(afterAll);

const UNABLE_TO_OPEN =
  ' cannot be used (unable to open database file): it has to be a file that this user may read and write, with its -wal and -shm, in a folder where this user may make files';

describe('an error of SQLite, or about its file, names the file', () => {
  const ports = { PORT: '0', GRPC_PORT: '0', ADMIN_PORT: '0' };
  const temporary = () => mkdtempSync(join(EMPTY, 'files-'));

  test.each([
    ['plantstore.sqlite', ['audit', 'head'], ' is a folder, and not a file'],
    ['plantstore.sqlite', ['serve'], ' is a folder, and not a file'],
    ['plantstore.lock', ['serve'], UNABLE_TO_OPEN],
  ])('%s that is a folder, in the way of %j', async (name, command, said) => {
    const DATA_DIR = temporary();
    mkdirSync(join(DATA_DIR, name));
    const { code, stderr } = await plantstore(command, { ...ports, DATA_DIR });
    expect({ code, stderr }).toEqual({ code: 1, stderr: `plantstore: ${join(DATA_DIR, name)}${said}\n` });
  });

  test('a page of the log that is damaged, which only a read of it finds', async () => {
    const DATA_DIR = temporary();
    const store = openSqlite(DATA_DIR);
    await fill(store, 600, 'alice');
    await store.close();
    const file = join(DATA_DIR, DATABASE_FILE);
    const pages = new DatabaseSync(file);
    const root = pages.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'events'").get()!.rootpage as number;
    pages.close();
    const descriptor = openSync(file, 'r+');
    writeSync(descriptor, Buffer.alloc(4096, 1), 0, 4096, (root - 1) * 4096);
    closeSync(descriptor);
    for (const command of [['audit', 'export'], ['audit', 'head'], ['backup', join(DATA_DIR, 'copy')], ['serve']]) {
      const { code, stderr } = await plantstore(command, { ...ports, DATA_DIR });
      expect([command, code]).toEqual([command, 1]);
      expect(stderr).toContain(
        `plantstore: ${file} is damaged (database disk image is malformed): run plantstore audit verify, and restore a backup if it says NO`,
      );
    }
  });

  test('the records of a witness', async () => {
    const state = temporary();
    mkdirSync(join(state, 'witness.sqlite'));
    const vkey = formatVerifierKey(noteSigner('log.example', generateKeyPairSync('ed25519').privateKey).key);
    const { code, stderr } = await plantstore([
      ...['witness', '--state', state, '--key', join(state, 'key.pem'), '--name', 'witness.example', '--log', vkey],
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain(`plantstore: ${join(state, 'witness.sqlite')}${UNABLE_TO_OPEN}`);
  });
});

describe('how to use it', () => {
  test.each(['', 'serve', 'token', 'audit', 'audit export', 'audit head'])('plantstore %s --help', async (command) => {
    const { code, stdout, stderr } = await plantstore([...command.split(' ').filter(Boolean), '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`Usage: plantstore ${command}`.trimEnd());
    if (command !== 'audit') expect(stdout).toMatch(/Examples?:\n {2}\$ .*plantstore /);
  });

  test.each([
    [[]],
    [['nonsense']],
    [['serve', '--port', '80']],
    [['token']],
    [['token', '--owner', 'alice', '--ttl', '0']],
    [['token', '--owner', 'alice', '--ttl', '1h']],
    [['token', '--owner', '']],
    [['audit']],
    [['audit', 'export', '--after', '-1']],
    [['audit', 'export', '--after', '1.5']],
    [['audit', 'export']],
    [['audit', 'head']],
  ])('wrong use says why on stderr, prints no result and fails: %j', async (args) => {
    const { code, stdout, stderr } = await plantstore(args, { DATA_DIR: EMPTY });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/\S/);
    expect(stderr).not.toMatch(/^ +at /m);
  });

  test('a wrong environment is one line for each wrong value', async () => {
    expect(await plantstore(['serve'], { PORT: '80a', NODE_ENV: 'production' })).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^plantstore: PORT is "80a"; expected .*\nplantstore: NODE_ENV is "production".*\n$/,
      ),
    });
  });

  test('an old Node is told so in one line', async () => {
    const old = 'Object.defineProperty(process.versions, "node", { value: "20.11.0" })';
    const { code, stdout, stderr } = await run(process.execPath, [
      '--import',
      `data:text/javascript,${old}`,
      'bin/plantstore.js',
      '--help',
    ]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^plantstore needs Node\.js 24 or newer.*\n$/);
  });
});

describe('while the service runs', () => {
  let service: Service;
  const cli = (...args: string[]) => plantstore(args, { DATA_DIR: service.dataDirectory });
  const call = async (token: string, method: string, path: string, body?: string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const init = body === undefined ? { method, headers } : { method, headers, body };
    return (await fetch(service.url + path, init)).status;
  };

  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service?.stop());

  test('token prints one token that the service takes, and nothing else', async () => {
    const { code, stdout, stderr } = await cli(
      'token',
      '--owner',
      'alice',
      '--scope',
      'plants:read',
      '--scope',
      'plants:audit',
      '--ttl',
      '60',
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const { sub, scope, iat, exp } = decodeJwt(stdout.trim());
    expect({ sub, scope, ttl: exp! - iat! }).toEqual({ sub: 'alice', scope: 'plants:read plants:audit', ttl: 60 });
    expect(await call(stdout.trim(), 'GET', '/plants')).toBe(200);
  });

  test('token is refused where an issuer is set', async () => {
    const issuer = { JWKS_URL: 'https://issuer.test/jwks', JWT_ISSUER: 'i', JWT_AUDIENCE: 'a' };
    expect(await plantstore(['token', '--owner', 'alice'], { DATA_DIR: EMPTY, ...issuer })).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^plantstore: .*development mode.*\n$/),
    });
  });

  test('a reader that has seen enough ends an export quietly', async () => {
    const token = await service.token('bob');
    const name = 'x'.repeat(1024);
    await Promise.all(
      Array.from({ length: 200 }, (_, id) => call(token, 'POST', '/plants', JSON.stringify({ id, name }))),
    );
    const script = '"$0" bin/plantstore.js audit export | head -c 5; echo " $PIPESTATUS"';
    expect(await run('bash', ['-c', script, process.execPath], { DATA_DIR: service.dataDirectory })).toEqual({
      code: 0,
      stdout: '{"pos 0\n',
      stderr: '',
    });
  });
});
