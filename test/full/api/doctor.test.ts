import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, chownSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { cosigner } from '../../../src/tlog/signer.ts';
import { formatVerifierKey, parseVerifierKey } from '../../../src/tlog/verifier-key.ts';
import { createWitnessServer } from '../../../src/witness/server.ts';
import { Witness } from '../../../src/witness/witness.ts';
import { HAS_MONGODB, openMongoStore } from '../../store/open-mongo.ts';
import { command } from '../../support/command.ts';
import { added, append, project } from '../../support/events.ts';
import { freePort } from '../../support/free-port.ts';
import { startLocalService } from '../../support/local-service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const NOBODY = 65_534;

let data: string;
let settings: Record<string, string>;
beforeEach(async () => {
  data = temporaryDirectory(onTestFinished);
  const [PORT, GRPC_PORT, ADMIN_PORT] = await Promise.all([freePort(), freePort(), freePort()]);
  settings = { DATA_DIR: data, PORT: String(PORT), GRPC_PORT: String(GRPC_PORT), ADMIN_PORT: String(ADMIN_PORT) };
});

/** Runs it. Nothing may go to stderr, and each line begins with a level. */
async function doctor(environment: Record<string, string> = {}) {
  const { code, stdout, stderr } = await command(['doctor'], { ...settings, ...environment });
  expect(stderr).toBe('');
  const lines = stdout.trimEnd().split('\n');
  for (const line of lines) expect(line).toMatch(/^(ok {4}|warn {2}|fail {2})\S/);
  expect(code).toBe(lines.some((line) => line.startsWith('fail')) ? 1 : 0);
  return { lines, troubles: lines.filter((line) => !line.startsWith('ok')) };
}

/** A store with three events, folded as far as is said. */
async function fill(projected = 3): Promise<void> {
  const store = openSqlite(data);
  await append(store, added('alice', 1n), added('alice', 2n), added('bob', 1n));
  await project(store, projected);
  await store.close();
}

/** Gives the store to a user who may not read everything, as root may, and is that user until the end of the test. */
function beNobody(): void {
  if (process.getuid!() !== 0) return;
  for (const path of [data, join(data, 'plantstore.sqlite')]) chownSync(path, NOBODY, NOBODY);
  process.seteuid!(NOBODY);
  onTestFinished(() => process.seteuid!(0));
}

const contents = () =>
  readdirSync(data)
    .filter((name) => !/-(wal|shm)$/.test(name))
    .map((name) => [name, readFileSync(join(data, name)).toString('base64')]);

test('beside a service that is well, every line is ok, and nothing is changed', async () => {
  // The admin port is on an address of its own, whatever HOST is.
  const HOST = '127.0.0.2';
  await using service = await startLocalService({ DATA_DIR: data, HOST });
  const ports = { HOST, PORT: new URL(service.url).port, ADMIN_PORT: new URL(service.adminUrl).port };
  await service.signed();
  const before = contents();
  const { lines, troubles } = await doctor(ports);
  expect(troubles).toEqual([]);
  expect(lines.join('\n')).toMatch(/^ok +service +ready with this log, according/m);
  expect(contents()).toEqual(before);
});

test('a read model that is ahead of the log is told, as a start would', async () => {
  await fill();
  using db = new DatabaseSync(join(data, 'plantstore.sqlite'));
  db.exec('UPDATE checkpoints SET position = 5');
  const { troubles } = await doctor();
  expect(troubles).toContainEqual(
    expect.stringMatching(/^fail +store +the log ends at position 3, the read model at 5: the log has lost events/),
  );
});

test('an address that is not of this machine is told for each port', async () => {
  await fill();
  const { troubles } = await doctor({ HOST: '192.0.2.1', AUTH_MODE: 'development' });
  const line = (name: string) =>
    expect.stringMatching(
      new RegExp(`^fail +service +${name} \\d+ on HOST 192.0.2.1 cannot be opened: .*EADDRNOTAVAIL`),
    );
  expect(troubles).toEqual([line('PORT'), line('GRPC_PORT')]);
});

test('without a service its ports are free', async () => {
  await fill();
  const { lines, troubles } = await doctor();
  expect(troubles).toEqual([]);
  expect(lines.join('\n')).toMatch(/^ok +service +not running on 127.0.0.1/m);
});

test('a data directory into which its user may not look is told, and the rest is examined', async () => {
  await fill();
  const isRoot = process.getuid!() === 0;
  if (isRoot) process.seteuid!(NOBODY);
  else chmodSync(data, 0);
  onTestFinished(() => (isRoot ? process.seteuid!(0) : chmodSync(data, 0o700)));
  const { lines, troubles } = await doctor();
  const about = `^(warn|fail) +data +(DATA_DIR )?${data} `;
  expect(troubles).toEqual([
    expect.stringMatching(/^fail +store .*permission denied/),
    expect.stringMatching(new RegExp(about)),
  ]);
  expect(lines.join('\n')).toMatch(/^ok +issuer .*\n.*service/m);
});

test('a data directory with files of others is not to be closed, and a misspelt setting is told', async () => {
  await fill();
  writeFileSync(join(data, 'of-somebody-else'), '');
  chmodSync(data, 0o755);
  const { troubles } = await doctor({ RATELIMIT: '5', ADMIN_PORT: '0' });
  expect(troubles).toEqual([
    'warn  settings    RATELIMIT is no setting; did you mean RATE_LIMIT?',
    expect.stringMatching(/^warn {2}data .* has other files too, and is accessible to other users: set DATA_DIR to/),
    expect.stringMatching(/^warn {2}service .*ADMIN_PORT=0/),
  ]);
});

test('a wrong setting is a line, and nothing else is examined', async () => {
  await fill();
  expect((await doctor({ PORT: 'x', HOST: '0.0.0.0', RATELIMIT: '5' })).lines).toEqual([
    'warn  settings    RATELIMIT is no setting; did you mean RATE_LIMIT?',
    expect.stringMatching(/^fail {2}settings {4}PORT is "x"; expected a port /),
    expect.stringMatching(/^fail {2}settings {4}HOST is "0\.0\.0\.0", .* AUTH_MODE=development /),
  ]);
});

test('where there is no store it says so, makes none, and examines the rest', async () => {
  const { lines, troubles } = await doctor();
  expect(troubles).toEqual([
    expect.stringContaining(`there is no plant store in ${data}; the first start of the service makes one`),
  ]);
  expect(lines.length).toBeGreaterThan(3);
  expect(readdirSync(data)).toEqual([]);
});

test('a file where DATA_DIR should be is named, and nobody is told to change its rights', async () => {
  const file = join(data, 'file');
  writeFileSync(file, '');
  expect((await doctor({ DATA_DIR: file })).troubles).toEqual([
    expect.stringMatching(/^fail +store /),
    expect.stringMatching(
      /^fail +data +DATA_DIR \S+file is no folder that this user may write to: set DATA_DIR to one$/,
    ),
  ]);
  expect((await doctor({ DATA_DIR: join(file, 'in') })).troubles).toEqual([
    expect.stringMatching(/^fail +store .*DATA_DIR cannot be used: ENOTDIR/),
    expect.stringMatching(/^warn +data +DATA_DIR \S+file\/in does not exist/),
  ]);
});

test('a folder that does not exist is told, and not made', async () => {
  const missing = join(data, 'missing');
  expect((await doctor({ DATA_DIR: missing })).troubles).toEqual([
    expect.stringMatching(/^fail +store /),
    expect.stringMatching(/^warn +data +DATA_DIR \S+\/missing does not exist: the first start makes it$/),
  ]);
  expect(readdirSync(data)).toEqual([]);
});

describe('finds, alone', () => {
  const file = (name: string, text: string, mode: number) => () => {
    writeFileSync(join(data, name), text);
    chmodSync(join(data, name), mode);
  };
  const cases: [string, () => void, RegExp][] = [
    [
      'a database that others may read',
      () => chmodSync(join(data, 'plantstore.sqlite'), 0o644),
      /^fail +data .*chmod 600/,
    ],
    ['a data directory that others may read', () => chmodSync(data, 0o755), /^fail +data .*chmod 700/],
    ['a key that is damaged', file('audit-key.pem', 'no key', 0o600), /^fail +audit key .*; restore the key/],
    [
      'a key that this user may not read',
      () => {
        file('audit-key.pem', '', 0)();
        beNobody();
      },
      /^fail +audit key .*permission denied.*; run this as the user of the service, and give that user the right to read/,
    ],
    [
      'a last checkpoint that another user signed',
      () => {
        file('last-checkpoint.txt', '', 0)();
        beNobody();
      },
      /^fail +checkpoint .*permission denied.*; nothing is signed until it is/,
    ],
  ];
  test.each(cases)('%s', async (_, spoil, found) => {
    await fill();
    spoil();
    expect((await doctor()).troubles).toEqual([expect.stringMatching(found)]);
  });

  test.runIf(process.getuid?.() === 0)('a data directory of another user, which a start refuses', async () => {
    await fill();
    chmodSync(data, 0o755);
    chownSync(data, NOBODY, NOBODY);
    expect((await doctor()).troubles).toEqual([
      expect.stringMatching(/^warn +data .* run this as the user of the service/),
    ]);
  });

  test('a port that somebody else has, an issuer and a Kafka that are away', async () => {
    await fill();
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const away = `127.0.0.1:${await freePort()}`;
    const issuer = { JWKS_URL: `http://${away}/jwks`, JWT_ISSUER: 'https://id.example.org/', JWT_AUDIENCE: 'plants' };
    const { troubles } = await doctor({ PORT: String(port), ...issuer, KAFKA_BROKERS: away });
    expect(troubles).toEqual([
      expect.stringMatching(/^fail +issuer .*ECONNREFUSED.*: correct JWKS_URL, or let /),
      expect.stringMatching(/^fail +kafka .*ECONNREFUSED.*: correct the settings KAFKA_\*, or let /),
      expect.stringMatching(new RegExp(`^fail +service +port ${port} is taken.*set PORT`)),
    ]);
    server.close();
  });

  test('a fail that its reader does not wait for', async () => {
    await fill();
    const JWKS_URL = `http://127.0.0.1:${await freePort()}/jwks`;
    const issuer = { JWKS_URL, JWT_ISSUER: 'https://id.example.org/', JWT_AUDIENCE: 'plants' };
    const doctor = spawn(process.execPath, ['bin/plantstore.js', 'doctor'], {
      env: { PATH: process.env.PATH, ...settings, ...issuer },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    doctor.stdout.destroy();
    expect(await once(doctor, 'close')).toEqual([1, null]);
  });

  test('a service that is frozen is no other program', async () => {
    await fill();
    // The system accepts connections for a process that does not run.
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    expect((await doctor({ ADMIN_PORT: String(port) })).troubles).toEqual([
      expect.stringMatching(new RegExp(`^fail +service +http.*:${port}/readyz does not answer within 3 s`)),
    ]);
    server.close();
  });

  /** Answers every request of HTTP with this, and resolves with its port. */
  async function answering(answer: RequestListener): Promise<number> {
    const server = createHttpServer(answer).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    return (server.address() as AddressInfo).port;
  }

  test.each([
    ['HTML', '<html></html>'],
    ['JSON of its own', '{"status":"ready","dependencies":[]}'],
  ])('an ADMIN_PORT where another program answers 200 with %s', async (_, body) => {
    await fill();
    const port = await answering((_request, response) => response.end(body));
    expect((await doctor({ ADMIN_PORT: String(port) })).troubles).toEqual([
      expect.stringMatching(new RegExp(`^fail +service +port ${port} is taken.*set ADMIN_PORT`)),
    ]);
  });

  test('an ADMIN_PORT where a service with another log answers', async () => {
    await fill();
    await using other = await startLocalService();
    const { troubles } = await doctor({ ADMIN_PORT: new URL(other.adminUrl).port });
    expect(troubles).toEqual([
      expect.stringMatching(/^fail +service .*is of a service with another log, [0-9a-f]{32}: set ADMIN_PORT/),
    ]);
  });

  test('witnesses that are away, that do not know the log, and what is none; one more and one fewer than may be', async () => {
    await fill();
    const vkeyOf = (name: string) => formatVerifierKey(cosigner(name, generateKeyPairSync('ed25519').privateKey).key);
    const witness = (...logs: string[]) => {
      const { privateKey } = generateKeyPairSync('ed25519');
      const replace = () => expect.unreachable();
      const last = () => ({ size: 3, root: Buffer.alloc(32), note: '' });
      const keys = logs.map((vkey) => parseVerifierKey(vkey));
      return answering(
        createWitnessServer(
          new Witness(cosigner('here.example', privateKey), keys, { last, replace }, () => {}),
        ).listeners('request')[0] as RequestListener,
      );
    };
    const key = (await command(['audit', 'key'], settings)).stdout.trim();
    const ports = {
      here: await witness(key),
      strange: await witness(),
      none: await answering((_request, response) => response.end()),
      away: await freePort(),
    };
    const WITNESSES = Object.entries(ports)
      .map(([name, port]) => `http://127.0.0.1:${port}=${vkeyOf(`${name}.example`)}`)
      .join(' ');
    const found = (level: string, why: string) =>
      ['strange', 'none', 'away'].map((name, index) =>
        expect.stringMatching(
          new RegExp(`^${level} +witness +${name}\\.example at http.* ${REFUSALS[index]}.*${why}, there: 1$`),
        ),
      );
    expect((await doctor({ WITNESSES, WITNESS_QUORUM: '1' })).troubles).toEqual(found('warn', '; needed: 1'));
    const { lines, troubles } = await doctor({ WITNESSES });
    expect(troubles).toEqual(found('fail', 'get 503; needed: 4'));
    expect(lines.join('\n')).toMatch(/^ok +witness +here\.example at http\S+ knows the log plantstore\//m);
  });
});

/** Why there is no witness: one that does not know the log, a server that is none, none at all. */
const REFUSALS = [
  'does not know the log plantstore/',
  'answers 200, as no witness does',
  'does not answer .*ECONNREFUSED',
];

describe.runIf(HAS_MONGODB)('MongoDB', () => {
  test('a store that is well; a server that is away', async () => {
    const opened = await openMongoStore();
    const environment = { MONGODB_URI: opened.uri, NODE_ENV: 'test' };
    const audit = expect.stringMatching(/^warn +audit key .*AUDIT_SIGNING_KEY/);
    try {
      await append(opened.store, added('alice', 1n));
      await project(opened.store);
      expect((await doctor(environment)).troubles).toEqual([audit]);
    } finally {
      await opened.cleanup();
    }
    const away = await doctor({
      MONGODB_URI: `mongodb://127.0.0.1:${await freePort()}/x?replicaSet=rs&directConnection=true`,
    });
    expect(away.troubles).toEqual([
      expect.stringMatching(/^fail +store +MongoDB: no primary of MONGODB_URI .* does not answer \(/),
      audit,
    ]);
  });
});
