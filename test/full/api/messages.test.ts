import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { aboutFile } from '../../../src/files.ts';
import { aboutDataDirectory } from '../../../src/start/start-error.ts';
import type { Signer } from '../../../src/tlog/note.ts';
import { cosigner, noteSigner } from '../../../src/tlog/signer.ts';
import { formatVerifierKey } from '../../../src/tlog/verifier-key.ts';
import { type Certificate, CertificateAuthority } from '../../support/certificates.ts';
import { command } from '../../support/command.ts';
import { run } from '../../support/run.ts';
import { startService } from '../../support/service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

// What somebody reads who set something wrong: it names what to change.

let taken: Server;
let port: string;
const directory = temporaryDirectory(afterAll);
const DATA = { DATA_DIR: directory };
const FREE = { PORT: '0', GRPC_PORT: '0', ADMIN_PORT: '0', LOG_LEVEL: 'fatal' };
beforeAll(async () => {
  taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  port = String((taken.address() as AddressInfo).port);
});
afterAll(() => {
  taken.close();
});

const failureOf = async (args: readonly string[], environment: Readonly<Record<string, string>> = {}) => {
  const { code, stdout, stderr } = await command(args, { ...DATA, ...environment });
  expect({ code, stderr: stderr.split('\n').length }, stderr).toEqual({ code: 1, stderr: 2 });
  return { stdout, message: stderr.trimEnd() };
};

test('all ports that are taken, in one start', async () => {
  await using first = await startService({ DATA_DIR: temporaryDirectory(onTestFinished) });
  const urls = { PORT: first.url, GRPC_PORT: `http://${first.grpcUrl}`, ADMIN_PORT: first.adminUrl };
  const ports = Object.fromEntries(Object.entries(urls).map(([name, url]) => [name, new URL(url).port]));
  const { message } = await failureOf(['serve'], ports);
  expect(message).toContain(`plantstore: ADMIN_PORT ${ports.ADMIN_PORT} on ADMIN_HOST`);
  expect(message).toMatch(new RegExp(`; PORT ${ports.PORT} is taken too; GRPC_PORT ${ports.GRPC_PORT} is taken too$`));
});

test.each(['PORT', 'GRPC_PORT', 'ADMIN_PORT'])('%s that is taken', async (name) => {
  const { message } = await failureOf(['serve'], { ...FREE, [name]: port });
  const host = name === 'ADMIN_PORT' ? 'ADMIN_HOST' : 'HOST';
  expect(message).toBe(
    `plantstore: ${name} ${port} on ${host} 127.0.0.1 cannot be opened: listen EADDRINUSE: address already in use 127.0.0.1:${port}; set ${name} to a free port, or ${host} to an address of this machine`,
  );
});

test.each([
  ['HOST', { HOST: '192.0.2.1', AUTH_MODE: 'development' }],
  ['ADMIN_HOST', { ADMIN_HOST: '192.0.2.1' }],
])('%s that is no address of this machine', async (name, environment) => {
  const { message } = await failureOf(['serve'], { ...FREE, ...environment });
  expect(message).toContain(`${name} 192.0.2.1 cannot be opened: listen EADDRNOTAVAIL`);
  expect(message).toContain(`${name} to an address of this machine`);
});

test.each([
  ['ADMIN_HOST', { ADMIN_HOST: 'nonsense.invalid' }],
  ['HOST', { HOST: 'nonsense.invalid', AUTH_MODE: 'development' }],
])('%s that no machine has', async (name, environment) => {
  const { message } = await failureOf(['serve'], { ...FREE, ...environment });
  expect(message).toMatch(
    new RegExp(` on ${name} nonsense\\.invalid cannot be opened: getaddrinfo E.*; set .* or ${name} to an address`),
  );
});

const COMMANDS = [
  ['serve'],
  ['token', '--owner', 'alice'],
  ['audit', 'head'],
  ['audit', 'verify'],
  ['audit', 'rebuild'],
  ['audit', 'import', '/dev/null'],
  ['backup', join(directory, 'backup')],
  ['erase', '--owner', 'alice'],
];

test.each(COMMANDS.flatMap((args) => ['/etc/passwd', '/etc/passwd/data'].map((path) => [args.join(' '), path, args])))(
  '%s with DATA_DIR=%s, which no folder can be',
  async (_, path, args) => {
    const { message } = await failureOf(args as string[], { ...FREE, DATA_DIR: path as string });
    expect(message).toMatch(/^plantstore: DATA_DIR cannot be used: .*\/etc\/passwd.*; set DATA_DIR to a folder/);
  },
);

test.each([
  ['an import of a file', ['audit', 'import', join(directory, 'missing.ndjson')]],
  ['a backup into a folder', ['backup', join(directory, 'missing', 'copy.sqlite')]],
])('%s that is missing in DATA_DIR says so, and does not blame DATA_DIR', async (_, args) => {
  const { message } = await failureOf(args, { ...FREE, DATA_DIR: directory });
  expect(message).toContain(join(directory, 'missing'));
  expect(message).not.toContain('set DATA_DIR');
});

test('a file without a name is not taken for DATA_DIR, which is in the folder that a command runs in', () => {
  const error = Object.assign(new Error('ENOENT: no such file or directory'), { code: 'ENOENT', path: '' });
  expect(aboutDataDirectory(error, './data')).toBe(error);
});

test('a file of another user in DATA_DIR is a matter of who runs the command, before another DATA_DIR', () => {
  const error = Object.assign(new Error('denied'), { code: 'EACCES', path: join(directory, 'last-checkpoint.txt') });
  expect((aboutDataDirectory(error, directory) as Error).message).toBe(
    'DATA_DIR cannot be used: denied; run this as the user of the service, whose it has to be, or set DATA_DIR to a folder that this user may write to',
  );
});

test('an option that is given twice is refused, since the first one would not count', async () => {
  const { message } = await failureOf(['erase', '--owner', 'alice', '--owner=bob']);
  expect(message).toBe("error: option '--owner <name>' is given twice, and counts once");
  const vkeyOf = ({ key }: Signer) => formatVerifierKey(key);
  const { privateKey } = generateKeyPairSync('ed25519');
  const witnesses = ['one', 'two'].flatMap((name) => ['--witness', vkeyOf(cosigner(`${name}.example`, privateKey))]);
  const file = join(directory, 'missing.tlog-proof');
  const several = [
    'audit',
    'check-receipt',
    file,
    '--key',
    vkeyOf(noteSigner('log.example', privateKey)),
    ...witnesses,
  ];
  expect(await failureOf(several)).toMatchObject({ message: expect.stringContaining(file) });
});

// Node's own way to make a folder with its parents never ends there.
describe.runIf(process.platform === 'linux')('a folder in /proc, where none can be made', () => {
  const key = join(directory, 'witness.pem');
  const vkey = formatVerifierKey(noteSigner('log.example', generateKeyPairSync('ed25519').privateKey).key);
  const witness = ['witness', '--name', 'witness.example', '--log', vkey, '--port', '0'];
  test.each([
    ['serve', ['serve']],
    ['token', ['token', '--owner', 'alice']],
    ['audit import', ['audit', 'import', '/dev/null']],
    ['the key of a witness', [...witness, '--key', '/proc/nope/key.pem']],
    ['the state of a witness', [...witness, '--key', key, '--state', '/proc/nope']],
  ])('%s', async (_, args) => {
    const limited = ['-s', 'KILL', '20', process.execPath, 'bin/plantstore.js', ...args];
    const { code, stderr } = await run('timeout', limited, { ...FREE, DATA_DIR: '/proc/nope' });
    const why = args[0] === 'witness' ? '/proc/nope: no such file or directory' : "mkdir '/proc/nope'";
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(why) });
    expect(stderr.includes('DATA_DIR')).toBe(args[0] !== 'witness');
  });
});

describe('a file of TLS', () => {
  let good: Record<string, string>;
  let other: Certificate;
  beforeAll(() => {
    const ca = new CertificateAuthority(directory, 'ca');
    const server = ca.issue('server');
    other = ca.issue('other');
    good = { GRPC_TLS_CERT: server.certificate, GRPC_TLS_KEY: server.key, GRPC_TLS_CLIENT_CA: ca.certificate };
  });

  /** What the start and doctor say of it. */
  async function said(files: Record<string, string>): Promise<string> {
    const { message } = await failureOf(['serve'], { ...FREE, ...good, ...files });
    const { stdout } = await command(['doctor'], { ...DATA, ...FREE, ...good, ...files });
    const said = message.replace('plantstore: ', '');
    expect(stdout).toContain(`fail  gRPC TLS    ${said}\n`);
    return said;
  }

  describe.each(['GRPC_TLS_CERT', 'GRPC_TLS_KEY', 'GRPC_TLS_CLIENT_CA'])('%s', (name) => {
    test.each(['/nowhere/file.pem', '/etc'])('cannot be read: %s', async (path) => {
      expect(await said({ [name]: path })).toContain(`${name} (${path}) cannot be read: E`);
    });

    test('is no PEM', async () => {
      const path = join(process.cwd(), 'package.json');
      expect(await said({ [name]: path })).toMatch(new RegExp(`^${name} \\(${path}\\) has no .* that can be used: `));
    });
  });

  test('is the key of another certificate', async () => {
    expect(await said({ GRPC_TLS_KEY: other.key })).toBe(
      `GRPC_TLS_KEY (${other.key}) is not the key of GRPC_TLS_CERT (${good.GRPC_TLS_CERT}): set both to files of the same certificate`,
    );
  });
});

/** A process that holds the write lock of a database, until it is killed or for some milliseconds. */
async function holderOf(path: string, milliseconds = 60_000): Promise<ChildProcess> {
  const hold = `const db = new (require('node:sqlite').DatabaseSync)(${JSON.stringify(path)});
    db.exec('BEGIN IMMEDIATE'); console.log('held'); setTimeout(() => db.close(), ${milliseconds})`;
  const holder = spawn(process.execPath, ['--eval', hold], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(holder.stdout, 'data');
  return holder;
}

test('a database that another process holds; a command waits for one that soon lets go', async () => {
  const DATA_DIR = join(directory, 'held');
  await (await startService({ DATA_DIR })).stop();
  const path = join(DATA_DIR, 'plantstore.sqlite');
  const holder = await holderOf(path);
  const { message } = await failureOf(['serve'], { ...FREE, DATA_DIR });
  expect(message).toContain(`plantstore: ${path} is in use by another program`);
  expect(message).toMatch(/: end that, or wait for its end, and try again$/);
  holder.kill();
  await once(holder, 'exit');
  const brief = await holderOf(path, 2_000);
  expect(await command(['audit', 'rebuild'], { DATA_DIR })).toMatchObject({ code: 0, stdout: '{"checkpoint":0}\n' });
  if (brief.exitCode === null) await once(brief, 'exit');
});

test.each([
  ['a write', 13, 'database or disk is full'],
  ['a write that SQLite tells otherwise', 778, 'disk I/O error'],
  ['the index of the write-ahead log', 4_874, 'disk I/O error'],
])('a disk that is too full for %s', (_, errcode, message) => {
  const error = Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode });
  expect(String(aboutFile('/data/plantstore.sqlite', error))).toBe(
    `Error: /data/plantstore.sqlite cannot be used, because its disk is full or broken (${message}): free some space, and try again`,
  );
});

test.each([
  ['a database that may only be read', 1_032, 'attempt to write a readonly database'],
  ['a folder that may only be read', 14, 'unable to open database file'],
])('%s', (_, errcode, message) => {
  const error = Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode });
  expect(String(aboutFile('/data/plantstore.sqlite', error))).toBe(
    `Error: /data/plantstore.sqlite cannot be used (${message}): it has to be a file that this user may read and write, with its -wal and -shm, in a folder where this user may make files`,
  );
});

test('a MongoDB that is not there', async () => {
  const { message } = await failureOf(['audit', 'head'], { MONGODB_URI: `mongodb://127.0.0.1:9/plants` });
  expect(message).toMatch(/^plantstore: no primary of MONGODB_URI can be reached: 127\.0\.0\.1:9 does not answer \(/);
});

test('a name of a file that is empty', async () => {
  await (await startService(DATA)).stop();
  for (const args of [
    ['backup', ''],
    ['audit', 'import', ''],
  ])
    expect((await failureOf(args)).message).toBe("plantstore: '': no such file or directory");
});

test('a file where the folder of a witness should be', async () => {
  const [key, state] = [join(directory, 'witness.pem'), join(directory, 'state')];
  writeFileSync(state, '');
  const vkey = formatVerifierKey(noteSigner('log.example', generateKeyPairSync('ed25519').privateKey).key);
  const args = ['witness', '--name', 'witness.example', '--log', vkey, '--port', '0', '--key', key, '--state', state];
  const { code, stdout, stderr } = await command(args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(`plantstore: ${state} is a file, and not a folder\n`);
});

test('a scope that there is none of', async () => {
  const { stdout, stderr, code } = await command(['token', '--owner', 'alice', '--scope', 'plants:reed'], DATA);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('plants:read, plants:write, plants:audit, plants:erase');
});

test('a life of a token that is too long is told how long it may be', async () => {
  const { stdout, stderr, code } = await command(['token', '--owner', 'alice', '--ttl', '10000000000'], DATA);
  expect([stdout, code]).toEqual(['', 1]);
  expect(stderr).toContain('whole seconds from 1 to 9999999999');
});

test('the history of a plant that never was', async () => {
  await (await startService(DATA)).stop();
  const { message } = await failureOf(['audit', 'history', '--owner', 'alice', '--id', '7']);
  expect(message).toBe(
    'plantstore: there is no event of a plant 7 of alice: the plant never existed, or its owner was erased',
  );
});

test('a key without the checkpoint that it is for, which would check nothing', async () => {
  const vkey = formatVerifierKey(noteSigner('log.example', generateKeyPairSync('ed25519').privateKey).key);
  const { stdout, message } = await failureOf(['audit', 'verify', '--key', vkey]);
  expect({ stdout, message }).toEqual({ stdout: '', message: expect.stringContaining('--checkpoint') });
});

test('an import of nothing: the other end of a pipe may have failed; an empty file makes no store', async () => {
  const { stdout, message } = await failureOf(['audit', 'import', '/dev/null'], { DATA_DIR: join(directory, 'new') });
  expect({ stdout, message }).toEqual({ stdout: '', message: expect.stringContaining('has no events') });
  const file = join(directory, 'empty.ndjson');
  writeFileSync(file, '');
  const none = join(directory, 'none');
  expect((await failureOf(['audit', 'import', file], { DATA_DIR: none })).message).toContain('has no events');
  expect(existsSync(none)).toBe(false);
});

test('--version', async () => {
  const { code, stdout } = await command(['--version']);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
});
