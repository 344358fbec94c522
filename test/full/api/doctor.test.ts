import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { MongoClient } from 'mongodb';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { headAt, seal } from '../../../src/log/event/chain.ts';
import { DATABASE_FILE, openSqlite } from '../../../src/log/sqlite/store.ts';
import { Tree } from '../../../src/log/tree/tree.ts';
import { cosignatureKey, cosigner } from '../../../src/tlog/signer.ts';
import { formatVerifierKey, parseVerifierKey } from '../../../src/tlog/verifier-key.ts';
import { formatAddCheckpoint } from '../../../src/tlog/witness-request.ts';
import { openLogKey } from '../../../src/transparency/log-key.ts';
import { signCheckpoint } from '../../../src/transparency/signed-checkpoint.ts';
import { Records } from '../../../src/witness/records.ts';
import { createWitnessServer } from '../../../src/witness/server.ts';
import { Witness } from '../../../src/witness/witness.ts';
import { HAS_MONGODB, newDatabase, openMongoStore } from '../../store/open-mongo.ts';
import { openSqliteDatabase, type SqliteDatabase, said } from '../../store/sqlite-database.ts';
import { added, append, NO_NODES, project } from '../../support/events.ts';
import { freePort } from '../../support/free-port.ts';
import { plantstore } from '../../support/run.ts';
import { startService } from '../../support/service.ts';

let data: string;
let settings: Record<string, string>;
beforeEach(async () => {
  data = mkdtempSync(join(tmpdir(), 'plantstore-doctor-'));
  const [PORT, GRPC_PORT, ADMIN_PORT] = await Promise.all([freePort(), freePort(), freePort()]);
  settings = { DATA_DIR: data, PORT: String(PORT), GRPC_PORT: String(GRPC_PORT), ADMIN_PORT: String(ADMIN_PORT) };
});
afterEach(() => rmSync(data, { recursive: true }));

/** Runs it. Nothing may go to stderr, and each line begins with a level. */
async function doctor(environment: Record<string, string> = {}) {
  const { code, stdout, stderr } = await plantstore(['doctor'], { ...settings, ...environment });
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

const contents = () =>
  readdirSync(data)
    .filter((name) => !/-(wal|shm)$/.test(name))
    .map((name) => [name, readFileSync(join(data, name)).toString('base64')]);

test('beside a service that is well, every line is ok, and nothing is changed', async () => {
  await using service = await startService({ DATA_DIR: data });
  const ports = { PORT: new URL(service.url).port, ADMIN_PORT: new URL(service.adminUrl).port };
  const before = contents();
  const { lines, troubles } = await doctor(ports);
  expect(troubles).toEqual([]);
  expect(lines.join('\n')).toMatch(/^ok +service +ready, according/m);
  expect(contents()).toEqual(before);
});

test('without a service its ports are free, and nobody has a lease', async () => {
  await fill();
  const { lines, troubles } = await doctor();
  expect(troubles).toEqual([]);
  expect(lines.join('\n')).toMatch(/^ok +leases +none is held[\s\S]*^ok +service +not running on 127.0.0.1/m);
});

test('where there is no store it says so, makes none, and examines the rest', async () => {
  const { lines, troubles } = await doctor();
  expect(troubles).toEqual([expect.stringContaining(`there is no plant store in ${data}`)]);
  expect(lines.length).toBeGreaterThan(3);
  expect(readdirSync(data)).toEqual([]);
});

test('a file where DATA_DIR should be is named, and nobody is told to change its rights', async () => {
  const file = join(data, 'file');
  writeFileSync(file, '');
  expect((await doctor({ DATA_DIR: file })).troubles).toEqual([
    expect.stringMatching(/^fail +store /),
    expect.stringMatching(/^fail +data +DATA_DIR \S+file is no folder: set DATA_DIR to a folder$/),
  ]);
  expect((await doctor({ DATA_DIR: join(file, 'in') })).troubles).toEqual([
    expect.stringMatching(/^fail +store .*DATA_DIR cannot be used: ENOTDIR/),
    expect.stringMatching(/^fail +audit key .*cannot be generated, because \S+file\/in cannot be used \(ENOTDIR\)/),
    expect.stringMatching(/^fail +token key .*cannot be generated/),
  ]);
});

test('a key is not promised in a folder that does not exist', async () => {
  const missing = join(data, 'missing');
  expect((await doctor({ DATA_DIR: missing })).troubles).toEqual([
    expect.stringMatching(/^fail +store /),
    expect.stringMatching(/^warn +audit key .* if this user may make .*\/missing, which does not exist$/),
    expect.stringMatching(/^warn +token key .*\/missing, which does not exist$/),
  ]);
  expect(readdirSync(data)).toEqual([]);
});

test.each<[string, (database: SqliteDatabase) => Promise<void>, RegExp]>([
  ['lost', ({ removeEvent }) => removeEvent(2), /^fail +log +.*broken at position 2: .*: stop the writes, run/],
  ['changed', ({ change }) => change(3, said({ name: 'x' })), /^fail +log +.*broken at position 3: .*audit verify/],
])('an event that was %s, with which no service would start', async (_, tamper, found) => {
  await fill(1);
  const database = openSqliteDatabase(data);
  await tamper(database);
  await database.close();
  expect((await doctor()).troubles).toEqual([
    expect.stringMatching(found),
    expect.stringMatching(/^warn +read model +2 events behind/),
  ]);
  const start = await plantstore(['serve'], settings);
  expect(start).toMatchObject({ code: 1, stderr: expect.stringMatching(/^plantstore: the log is broken at position/) });
});

describe('finds, alone', () => {
  const sql = (text: string) => () => {
    const db = new DatabaseSync(join(data, DATABASE_FILE));
    db.exec(text);
    db.close();
  };
  const file = (name: string, text: string, mode: number) => () => {
    writeFileSync(join(data, name), text);
    chmodSync(join(data, name), mode);
  };
  const soon = Date.now() + 3_600_000;
  const cases: [string, () => void, RegExp][] = [
    [
      'a database that others may read',
      () => chmodSync(join(data, 'plantstore.sqlite'), 0o644),
      /^fail +data .*chmod 600/,
    ],
    ['a data directory that others may read', () => chmodSync(data, 0o755), /^fail +data .*chmod 700/],
    ['a key that is damaged', file('audit-key.pem', 'no key', 0o600), /^fail +audit key .*cannot be used/],
    [
      'a schema from before the first release',
      sql('PRAGMA user_version = 4'),
      /^fail +store .*has schema 4, from before the first release, which no release can read$/,
    ],
    ['a schema of a newer release', sql('PRAGMA user_version = 99'), /^fail +store .*which a newer release wrote/],
    [
      'a trigger that is gone',
      sql('DROP TRIGGER events_are_only_erased'),
      /^fail +schema .*lacks events_are_only_erased/,
    ],
    ['an index that is gone', sql('DROP INDEX events_that_erase'), /^fail +schema .*lacks events_that_erase/],
    [
      'a log that lost its end',
      sql('UPDATE checkpoints SET position = 9'),
      /^fail +read model .*position 9.*has lost.*restore another backup.*audit export, then audit import/,
    ],
    [
      'a lease of a wrong clock',
      sql(`INSERT INTO leases VALUES ('projector', 'x', ${soon})`),
      /^warn +leases .*clock was wrong/,
    ],
  ];
  test.each(cases)('%s', async (_, spoil, found) => {
    await fill();
    spoil();
    expect((await doctor()).troubles).toEqual([expect.stringMatching(found)]);
  });

  test('a read model that nobody moves, and one that its holder does not move', async () => {
    await fill(1);
    expect((await doctor()).troubles).toEqual([
      expect.stringMatching(
        /^warn +read model +2 events behind .*no instance has the lease.*if one runs, its log says/,
      ),
    ]);
    sql(`INSERT INTO leases VALUES ('projector', 'x', ${Date.now() + 50_000})`)();
    expect((await doctor()).troubles).toEqual([
      expect.stringMatching(/^fail +read model +2 events .*makes no progress/),
    ]);
  });

  test('a last event that is ahead of the clock', async () => {
    const store = openSqlite(data);
    const [event] = await append(store, added('alice', 1n));
    await store.append([seal(headAt(event!), added('alice', 2n), crypto.randomUUID(), Date.now() + 7_200_000)]);
    await store.advance(0, 2, { deletes: [], inserts: [] }, NO_NODES);
    await store.close();
    expect((await doctor()).troubles).toEqual([expect.stringMatching(/^warn +clock .* ahead of this clock/)]);
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
      expect.stringMatching(/^fail +issuer .*the service cannot verify new tokens/),
      expect.stringMatching(/^fail +kafka .*ECONNREFUSED/),
      expect.stringMatching(new RegExp(`^fail +service +port ${port} is taken.*set PORT`)),
    ]);
    server.close();
  });

  test('witnesses that are away, one more and one fewer than there may be', async () => {
    await fill();
    const server = createServer().listen(0, '127.0.0.1');
    server.on('connection', (socket) => socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n'));
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const entry = (name: string, at: number) =>
      `http://127.0.0.1:${at}=${formatVerifierKey(cosignatureKey(name, generateKeyPairSync('ed25519').privateKey))}`;
    const WITNESSES = `${entry('here.example', port)} ${entry('away.example', await freePort())}`;
    expect((await doctor({ WITNESSES, WITNESS_QUORUM: '1' })).troubles).toEqual([
      expect.stringMatching(/^warn +witness +away\.example does not answer .*ECONNREFUSED.*1 are needed, and 1 answer/),
    ]);
    expect((await doctor({ WITNESSES })).troubles).toEqual([
      expect.stringMatching(/^fail +witness +away\.example does not answer .*503 until 2 witnesses answer/),
    ]);
    server.close();
  });
});

describe('a witness', () => {
  const NAME = 'witness.example';
  const LOG_ORIGIN = 'log.example';

  /** A witness that has cosigned the store of three events, and the settings of its log. */
  async function cosigned() {
    const key = generateKeyPairSync('ed25519').privateKey;
    const store = openSqlite(data);
    const logKey = await openLogKey({ auditSigningKey: undefined, dataDirectory: data, logOrigin: LOG_ORIGIN }, store);
    const { note } = await signCheckpoint(new Tree(store), 3, logKey);
    await store.close();
    const records = new Records(join(data, 'witness'), [LOG_ORIGIN]);
    const witness = new Witness(cosigner(NAME, key), [parseVerifierKey(logKey.vkey)], records, () => {});
    expect(witness.addCheckpoint(formatAddCheckpoint({ older: 0, proof: [], checkpoint: note })).status).toBe(200);
    const before = records.last(LOG_ORIGIN);
    const server = createWitnessServer(witness).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const WITNESSES = `http://127.0.0.1:${port}=${formatVerifierKey(cosignatureKey(NAME, key))}`;
    const close = () => {
      expect(records.last(LOG_ORIGIN)).toEqual(before);
      server.close();
      records.close();
    };
    return { settings: { WITNESSES, LOG_ORIGIN }, [Symbol.dispose]: close };
  }

  /** Puts another store of so many events in the place of the one that was cosigned. */
  async function replace(events: number): Promise<void> {
    for (const name of readdirSync(data)) if (name.startsWith(DATABASE_FILE)) rmSync(join(data, name));
    const store = openSqlite(data);
    await append(store, ...Array.from({ length: events }, (_, id) => added('alice', BigInt(id))));
    await project(store);
    await store.close();
  }

  test('that has cosigned this log is well, and one that has cosigned another or a longer one is not', async () => {
    await fill();
    using witness = await cosigned();
    const well = await doctor(witness.settings);
    expect(well.troubles).toEqual([]);
    expect(well.lines).toContainEqual(
      expect.stringMatching(/^ok +witness +witness\.example has cosigned .* 3 events$/),
    );
    await replace(3);
    expect((await doctor(witness.settings)).troubles).toContainEqual(
      expect.stringMatching(
        /^fail +witness +witness\.example has cosigned .* 3 events, which this log of 3 does not extend: stop the writes/,
      ),
    );
    await replace(2);
    expect((await doctor(witness.settings)).troubles).toContainEqual(
      expect.stringMatching(/^fail +witness .* 3 events, but this log has 2: stop the writes, and compare/),
    );
  });

  test('that cannot be compared is not said to be well, and is asked for no endless answer', async () => {
    await fill();
    using witness = await cosigned();
    writeFileSync(join(data, DATABASE_FILE), 'no database');
    expect((await doctor(witness.settings)).troubles).toContainEqual(
      expect.stringMatching(
        /^warn +witness +witness\.example has cosigned .* 3 events; the log was not compared with it: /,
      ),
    );
    const answers = ['no note', 'x'.repeat(65 * 1024)];
    const server = createHttpServer((_, response) => response.end(answers.shift())).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const other = {
      ...witness.settings,
      WITNESSES: witness.settings.WITNESSES.replace(/^[^=]+/, `http://127.0.0.1:${port}`),
    };
    expect((await doctor(other)).troubles).toContainEqual(
      expect.stringMatching(/^warn +witness +witness\.example answers at .*; its last checkpoint was not compared: /),
    );
    expect((await doctor(other)).troubles).toContainEqual(
      expect.stringMatching(/^fail +witness +witness\.example does not answer .*the answer of the witness is too long/),
    );
    server.close();
  });
});

describe.runIf(HAS_MONGODB)('MongoDB', () => {
  test('a store that is well; an index that is gone; a server that is away', async () => {
    const opened = await openMongoStore();
    const client = new MongoClient(opened.uri);
    const environment = { MONGODB_URI: opened.uri, NODE_ENV: 'test' };
    const audit = expect.stringMatching(/^warn +audit key .*AUDIT_SIGNING_KEY/);
    try {
      await append(opened.store, added('alice', 1n));
      await project(opened.store);
      await opened.store.lease('projector', 'somebody', 30_000);
      const well = await doctor(environment);
      expect(well.troubles).toEqual([audit]);
      expect(well.lines.join('\n')).toMatch(
        /^ok +leases +projector is held by somebody for \d+ s more[\s\S]*^ok +clock .*database/m,
      );
      await client.db().collection('events').dropIndex('events_by_idempotency_key');
      const { troubles } = await doctor(environment);
      expect(troubles).toEqual([expect.stringMatching(/^fail +schema .*lacks events_by_idempotency_key/), audit]);
    } finally {
      await client.close();
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

  test('the address of the writer is dialled', async () => {
    const opened = await openMongoStore();
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const [here, away] = [`127.0.0.1:${port}`, `127.0.0.1:${await freePort()}`];
    const leases = async (address: string) => {
      await opened.store.lease('writer', 'somebody', 30_000, { address, secret: 'hunter2' });
      const { lines } = await doctor({ MONGODB_URI: opened.uri });
      expect(lines.join()).not.toContain('hunter2');
      return lines.filter((line) => line.includes('leases'));
    };
    try {
      expect(await leases(here)).toEqual([expect.stringMatching(/^ok +leases +writer is held by somebody/)]);
      expect(await leases(away)).toEqual([
        expect.stringMatching(
          `^warn +leases +writer is held .* nothing can be reached at its address ${away} .*ADVERTISE_ADDRESS`,
        ),
      ]);
    } finally {
      server.close();
      await opened.cleanup();
    }
  });

  test('a schema from before the first release is one that nothing reads any more', async () => {
    const uri = newDatabase();
    const client = new MongoClient(uri);
    try {
      await client.db().collection<{ _id: string; version: number }>('meta').insertOne({ _id: 'schema', version: 3 });
      expect((await doctor({ MONGODB_URI: uri })).troubles).toContainEqual(
        expect.stringMatching(/^fail +store .*has schema 3, from before the first release, which no release can read/),
      );
    } finally {
      await client.db().dropDatabase();
      await client.close();
    }
  });

  test('a database without a store, and a replica set of another name, are said in words', async () => {
    const uri = newDatabase();
    expect((await doctor({ MONGODB_URI: uri })).troubles).toContainEqual(
      expect.stringMatching(/^fail +store +MongoDB: database plantstore-\S+ contains no plant store$/),
    );
    const misnamed = uri.replace(/replicaSet=[^&]+/, 'replicaSet=other');
    expect((await doctor({ MONGODB_URI: misnamed })).troubles).toContainEqual(
      expect.stringMatching(/^fail +store +MongoDB: no server of MONGODB_URI is a member of the replica set other: /),
    );
  });
});
