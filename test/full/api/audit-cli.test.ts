import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { FORMATS } from '../../../src/audit/formats/formats.ts';
import { headAt, seal, subjectOf } from '../../../src/log/event/chain.ts';
import type { LoggedEvent } from '../../../src/log/event/event.ts';
import { DATABASE_FILE, openSqlite } from '../../../src/log/sqlite/store.ts';
import { formatVerifierKey, SIGNATURE_TYPE } from '../../../src/tlog/verifier-key.ts';
import { openSqliteDatabase, said } from '../../store/sqlite-database.ts';
import { command } from '../../support/command.ts';
import { added, append, chain, deleted, project } from '../../support/events.ts';
import { run } from '../../support/run.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

let root: string;
let data: string;

beforeEach(() => {
  root = temporaryDirectory(onTestFinished);
  data = join(root, 'data');
});

const audit = (...args: string[]) => command(['audit', ...args], { DATA_DIR: data });

/** Fills the store; the read model goes along. */
async function fill(...events: Parameters<typeof append>[1][]): Promise<LoggedEvent[]> {
  const store = await openSqlite(data);
  const logged = await append(store, ...events);
  await project(store);
  await store.close();
  return logged;
}

const some = () =>
  fill(added('alice', 7n, 'Fern', 'indoor'), added('bob', -1n, 'Oak'), deleted('alice', 7n), added('alice', 8n, 'Ivy'));

const linesOf = (events: readonly LoggedEvent[]) => FORMATS.ndjson.encode(events);

describe('verify', () => {
  test('a log that is whole: yes to every question, exit code 0', async () => {
    await some();
    const { code, stdout } = await audit('verify');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^positions +yes\nchain +yes\ncontents +yes\nread_model +yes\ndecisions +yes\nstorage +yes\ntree +yes\n\nwhole: .*position 4 /,
    );
    expect(JSON.parse((await audit('verify', '--json')).stdout)).toMatchObject({
      ok: true,
      head: { position: 4 },
      checkpoint: 4,
      answers: ['positions', 'chain', 'contents', 'read_model', 'decisions', 'storage', 'tree'].map((question) => ({
        question,
        ok: true,
      })),
    });
  });

  test('a log that was changed: the place, for people and for machines, and exit code 1', async () => {
    const events = await some();
    const database = openSqliteDatabase(data);
    await database.putEvent({ ...events[1]!, eventId: 'x' });
    await database.removePlant('alice', 8n);
    await database.close();
    const { code, stdout } = await audit('verify');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^chain +NO +at position 2: /m);
    expect(stdout).toMatch(/^read_model +NO +plant 8 of "alice" is missing/m);
    const machine = await audit('verify', '--json');
    expect(machine.code).toBe(1);
    expect(JSON.parse(machine.stdout)).toMatchObject({
      ok: false,
      answers: [
        { question: 'positions', ok: true },
        { question: 'chain', ok: false, position: 2 },
        { question: 'contents', ok: true },
        { question: 'read_model', ok: false, owner: 'alice', plantId: 8 },
        { question: 'decisions', ok: false, position: 2 },
        { question: 'storage', ok: true },
        { question: 'tree', ok: true },
      ],
    });
  });

  test('a last event that cannot be read: a verdict without a head', async () => {
    await some();
    const { db, close } = openSqliteDatabase(data);
    db.exec("UPDATE events SET event = x'0804' WHERE position = 4");
    await close();
    const { code, stdout } = await audit('verify');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^chain +NO +at position 4: its member commitment is malformed$/m);
    expect(stdout).toMatch(/^NOT WHOLE: the end of the log cannot be read$/m);
    const verdict = JSON.parse((await audit('verify', '--json')).stdout);
    expect(verdict).toMatchObject({
      ok: false,
      answers: [{ question: 'positions', ok: false, position: 4 }, {}, {}, {}, {}, {}, {}],
    });
    expect(verdict).not.toHaveProperty('head');
  });

  test('a database cut short: a verdict that blames the storage, and asks nothing else', async () => {
    await some();
    truncateSync(join(data, DATABASE_FILE), 3 * 4096);
    const { code, stdout, stderr } = await audit('verify');
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout).toMatch(/^storage +NO +database disk image is malformed$/m);
    expect(stdout).toMatch(/^chain +NO +not asked: the database cannot be opened$/m);
    const machine = await audit('verify', '--json');
    expect(machine.code).toBe(1);
    expect(JSON.parse(machine.stdout)).toMatchObject({
      ok: false,
      answers: [{}, {}, {}, {}, {}, { question: 'storage', message: 'database disk image is malformed' }, {}],
    });
    // Each question that is asked has a line.
    const note = join(root, 'monday.checkpoint');
    const unasked = 'NO   not asked: the database cannot be opened';
    const settings = { DATA_DIR: data, KAFKA_BROKERS: '127.0.0.1:1' };
    const asked = await command(['audit', 'verify', '--checkpoint', note], settings);
    expect(asked.stdout).toContain(`tree         ${unasked}\ncheckpoint   ${unasked}\ntopic        ${unasked}\n\n`);
    writeFileSync(join(data, 'last-checkpoint.txt'), 'kept');
    expect((await audit('verify')).stdout).toContain(`tree         ${unasked}\ncheckpoint   ${unasked}\n\n`);
  });

  test('a log that was rewritten as a whole is found out by a checkpoint that was signed before', async () => {
    await some();
    const checkpoint = join(root, 'monday.checkpoint');
    writeFileSync(checkpoint, (await audit('checkpoint')).stdout);
    const key = (await audit('key')).stdout.trim();
    expect((await audit('verify', '--checkpoint', checkpoint)).code).toBe(0);
    const kept = join(data, 'last-checkpoint.txt');
    const moved = join(root, 'last-checkpoint.txt');
    expect((await audit('verify')).stdout).toMatch(/^checkpoint +yes$/m);
    renameSync(kept, moved);
    rmSync(data, { recursive: true });
    await some();
    const alone = await audit('verify');
    expect(alone.code).toBe(0);
    expect(alone.stdout).not.toMatch(/^checkpoint/m);
    expect(existsSync(join(data, 'audit-key.pem'))).toBe(false);
    // That of another log is no answer.
    renameSync(moved, kept);
    const ofOther = await audit('verify');
    expect(ofOther).toMatchObject({ code: 0, stderr: expect.stringContaining('warning: the log is not compared') });
    expect(ofOther.stdout).not.toMatch(/^checkpoint/m);
    rmSync(kept);
    mkdirSync(kept);
    const unreadable = await audit('verify');
    expect(unreadable.code).toBe(1);
    expect(unreadable.stdout).toMatch(/^tree +yes\ncheckpoint +NO +not asked: the last checkpoint cannot be read: /m);
    const { code, stdout } = await audit('verify', '--checkpoint', checkpoint, '--key', key);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^checkpoint +NO +at position 4: .*the log was rewritten/m);
    const keyFile = join(data, 'audit-key.pem');
    rmSync(keyFile, { force: true });
    const noKey = await audit('verify', '--checkpoint', checkpoint);
    expect(noKey).toMatchObject({ code: 1, stdout: '' });
    expect(noKey.stderr).toContain(`there is no ${keyFile}: give the vkey of the checkpoint with --key`);
    expect(existsSync(keyFile)).toBe(false);
    await audit('key');
    const otherKey = await audit('verify', '--checkpoint', checkpoint);
    expect(otherKey).toMatchObject({ code: 1, stdout: '' });
    expect(otherKey.stderr).toContain(`the checkpoint in ${checkpoint} cannot be used: no signature by `);
  });
});

test.each([
  ['the id of its log (the row of log): restore a backup', 'DELETE FROM log', ['audit', 'key']],
  ['the id of its log (the row of log): restore a backup', 'DELETE FROM log', ['audit', 'checkpoint']],
  ['the checkpoint of its read model: run plantstore audit rebuild', 'DELETE FROM checkpoints', ['serve']],
])('a store that has lost %s says so (%s, %j)', async (lost, sql, args) => {
  await some();
  const { db, close } = openSqliteDatabase(data);
  db.exec(sql);
  await close();
  const { code, stdout, stderr } = await command(args, {
    DATA_DIR: data,
    PORT: '0',
    GRPC_PORT: '0',
    ADMIN_PORT: '0',
  });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(`the store has lost ${lost}`);
});

describe('travel', () => {
  test('list shows the plants of any moment, by position and by time', async () => {
    const events = await some();
    const first = '{"owner":"alice","id":7,"name":"Fern","tag":"indoor"}\n';
    const oak = '{"owner":"bob","id":-1,"name":"Oak"}\n';
    const ivy = '{"owner":"alice","id":8,"name":"Ivy"}\n';
    expect(await audit('list', '--as-of', '2')).toEqual({ code: 0, stdout: first + oak, stderr: 'as of position 2\n' });
    expect((await audit('list', '--owner', 'alice', '--as-of', '1')).stdout).toBe(first);
    expect((await audit('list')).stdout).toBe(ivy + oak);
    const now = new Date(events[3]!.time).toISOString();
    expect((await audit('list', '--owner', 'bob', '--as-of', now)).stdout).toBe(oak);
    expect((await audit('list', '--as-of', '2001-02-03T04:05:06+02:00')).stdout).toBe('');
    expect((await audit('list', '--as-of', '2001-02-03')).stdout).toBe('');
    expect((await audit('export', '--from', '2001-02-03')).stdout).toBe((await audit('export')).stdout);
    expect((await audit('list', '--as-of', '5')).stderr).toContain('from 0 to 4');
  });

  test('history and export show what is asked for', async () => {
    const events = await some();
    const of = (...positions: number[]) => linesOf(positions.map((position) => events[position - 1]!));
    expect((await audit('history', '--owner', 'alice', '--id', '7')).stdout).toBe(of(1, 3));
    expect((await audit('export', '--owner', 'alice', '--after', '1')).stdout).toBe(of(3, 4));
    expect((await audit('export', '--id', '-1')).stdout).toBe(of(2));
    const time = new Date(events[0]!.time).toISOString();
    expect((await audit('export', '--from', time)).stdout).toBe(of(1, 2, 3, 4));
    expect((await audit('export', '--from', '2999-01-01T00:00:00Z')).stdout).toBe('');
  });

  test('an export that is followed from a time to come prints nothing from before it', async () => {
    await some();
    const from = Date.now() + 3_000;
    const child = spawn(
      process.execPath,
      ['bin/plantstore.js', 'audit', 'export', '--follow', '--from', new Date(from).toISOString()],
      { env: { PATH: process.env.PATH, DATA_DIR: data }, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    onTestFinished(() => void child.kill());
    const line = createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
    await sleep(1_500);
    await fill(added('bob', 1n));
    await sleep(from - Date.now() + 10);
    const later = await fill(added('bob', 2n));
    expect(`${(await line).value}\n`).toBe(linesOf(later));
  });

  test('nobody is told the history of a plant, or the plants of an owner, from a content that was changed', async () => {
    await some();
    const database = openSqliteDatabase(data);
    await database.change(4, said({ name: 'Weed' }));
    await database.close();
    for (const asked of [
      ['history', '--owner', 'alice', '--id', '8'],
      ['list', '--owner', 'alice'],
      ['list'],
      ['export', '--owner', 'alice', '--after', '3'],
    ]) {
      const { code, stdout, stderr } = await audit(...asked);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain('the log is broken at position 4: its content does not match its commitment');
    }
  });

  test.each([
    ['', []],
    ['with --follow ', ['--follow']],
  ])('an export %safter the end of the log says so and fails', async (_, follow) => {
    await some();
    expect(await audit('export', '--after', '4')).toEqual({ code: 0, stdout: '', stderr: '' });
    const { code, stdout, stderr } = await audit('export', '--after', '5', ...follow);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('the log ends at position 4, before 5');
  });

  test.each([
    ['an owner', ['--owner', 'alice']],
    ['an owner, followed,', ['--owner', 'alice', '--follow']],
    ['plants with an id', ['--id', '7']],
    ['plants with an id, followed,', ['--id', '7', '--follow']],
  ])(
    'an export of %s fails if an owner is erased while it is read',
    async (_, options) => {
      const [add, remove] = [added('alice', 7n, 'x'.repeat(900)), deleted('alice', 7n)];
      await fill(...Array.from({ length: 5_000 }, (_, at) => (at % 2 === 0 ? add : remove)));
      const child = spawn(process.execPath, ['bin/plantstore.js', 'audit', 'export', ...options], {
        env: { PATH: process.env.PATH, DATA_DIR: data },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      // What is not read fills the pipe, so that it waits.
      await once(child.stdout, 'readable');
      expect(await command(['erase', '--owner', 'alice'], { DATA_DIR: data })).toMatchObject({ code: 0 });
      let lines = 0;
      let why = '';
      child.stdout.on('data', (chunk: Buffer) => {
        lines += chunk.toString('latin1').split('\n').length - 1;
      });
      child.stderr.on('data', (chunk) => {
        why += chunk;
      });
      const [code] = await once(child, 'close');
      expect(lines).toBeLessThan(5_000);
      expect(code).toBe(1);
      expect(why).toContain('an owner was erased while the log was read: forget what was read, and begin anew');
    },
    30_000,
  );

  test('an export that goes on after an erasure does not tell whom it erased; one from the beginning does', async () => {
    await fill(added('alice', 7n), added('bob', 8n));
    expect(await command(['erase', '--owner', 'alice'], { DATA_DIR: data })).toMatchObject({ code: 0 });
    await fill(added('alice', 9n));
    const exported = async (...options: string[]) => {
      const { code, stdout } = await audit('export', ...options);
      expect(code).toBe(0);
      return stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
    };
    expect(await exported('--after', '2', '--owner', 'alice')).toMatchObject([{ position: 4, plantId: 9 }]);
    const [erasure] = await exported('--after', '2');
    expect(erasure).toMatchObject({ position: 3, type: 'OwnerErased' });
    expect(JSON.stringify(erasure)).not.toMatch(/alice|erasesOwner/);
    const erased = (await exported()).filter(({ erasedBy }) => erasedBy === 3);
    expect(erased).toMatchObject([{ position: 1, commitment: expect.any(String) }]);
    expect(erased[0]).not.toHaveProperty('owner');
  });

  test('a followed export goes on with what is appended later', async () => {
    const events = await some();
    const child = spawn(process.execPath, ['bin/plantstore.js', 'audit', 'export', '--follow'], {
      env: { PATH: process.env.PATH, DATA_DIR: data },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const follow = async (appended: readonly LoggedEvent[]) => {
      for (const event of appended) expect(`${(await lines.next()).value}\n`).toBe(linesOf([event]));
    };
    await follow(events);
    for (let id = 20n; id < 23n; id++) await follow(await fill(added('alice', id)));
    child.kill();
    expect(await lines.next()).toMatchObject({ done: true });
  });

  test.each([
    ['--owner', 'alice'],
    ['--id', '7'],
  ])(
    'a followed export with %s fails at the erasure of an owner whose events it has printed',
    async (...options) => {
      await fill(added('alice', 7n));
      const child = spawn(process.execPath, ['bin/plantstore.js', 'audit', 'export', '--follow', ...options], {
        env: { PATH: process.env.PATH, DATA_DIR: data },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const closed = once(child, 'close');
      await once(child.stdout, 'data');
      let why = '';
      child.stderr.on('data', (chunk) => {
        why += chunk;
      });
      expect(await command(['erase', '--owner', 'alice'], { DATA_DIR: data })).toMatchObject({ code: 0 });
      expect(await closed).toEqual([1, null]);
      expect(why).toContain('an owner was erased while the log was read: forget what was read, and begin anew');
    },
    30_000,
  );
});

test.each([
  ['list', '--as-of', 'yesterday'],
  ['list', '--as-of', '2026-02-30T00:00:00Z'],
  ['list', '--as-of', '2026-02-30'],
  ['list', '--as-of', '0000-01-01'],
  ['list', '--as-of', '2026-01-02T03:04:05'],
  ['list', '--as-of', '-1'],
  ['history', '--owner', 'alice'],
  ['history', '--owner', 'alice', '--id', '9223372036854775808'],
  ['export', '--format', 'xml'],
  ['export', '--after', '1', '--from', '2026-01-02T03:04:05Z'],
  ['import'],
])('wrong use says why and fails: audit %s %s %s', async (...args) => {
  await some();
  const { code, stdout, stderr } = await audit(...args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/\S/);
  expect(stderr).not.toMatch(/^ +at /m);
});

test.each([
  ['verify', '--checkpoint', 'no-such-file'],
  ['import', 'no-such-file'],
])('a file that is missing is named: audit %s %s %s', async (...args) => {
  await some();
  const { code, stdout, stderr } = await audit(...args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toBe('plantstore: no-such-file: no such file or directory\n');
});

test('the vkey of a key that has not signed here comes with a warning, as in a shell without the settings of the service', async () => {
  await fill(added('alice', 1n));
  const settings = { DATA_DIR: data, LOG_ORIGIN: 'log.example' };
  expect(await command(['audit', 'checkpoint'], settings)).toMatchObject({ code: 0, stderr: '' });
  expect(await command(['audit', 'key'], settings)).toMatchObject({ code: 0, stderr: '' });
  expect(await command(['audit', 'key'], { DATA_DIR: data })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^plantstore\//),
    stderr: expect.stringMatching(/^warning: the log is not compared .* it is of the log log\.example/),
  });
});

test('an import that reads no export makes no store', async () => {
  const file = join(root, 'cut.ndjson');
  writeFileSync(file, '{"position":');
  for (const source of [join(root, 'none'), file, root]) {
    const { code, stdout } = await audit('import', source);
    expect({ code, stdout, isThere: existsSync(data) }).toEqual({ code: 1, stdout: '', isThere: false });
  }
});

test.each(['export', 'list'])('no owner has an empty name: audit %s', async (name) => {
  const { code, stdout, stderr } = await audit(name, '--owner', '');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('Expected the name of an owner.');
});

/** A key of nobody. */
const VKEY = formatVerifierKey({ name: 'any', type: SIGNATURE_TYPE.ed25519, publicKey: new Uint8Array(32) });

test.each([['verify', '--checkpoint'], ['import'], ['check-receipt', '--key', VKEY]])(
  'a folder in the place of a file is named: audit %s',
  async (...args) => {
    await some();
    const { code, stdout, stderr } = await audit(...args, data);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(`plantstore: ${data} is a folder, and not a file\n`);
  },
);

test.each(['verify', 'list', 'rebuild'])('audit %s makes no store where there is none', async (command) => {
  const { code, stderr } = await audit(command);
  expect(code).toBe(1);
  expect(stderr).toContain(`there is no plant store in ${data}`);
});

const MANY = 6_000;
const many = async () => {
  const logged: LoggedEvent[] = [];
  for (let from = 0; from < MANY; from += 1_000)
    logged.push(...(await fill(...Array.from({ length: 1_000 }, (_, index) => added('alice', BigInt(from + index))))));
  return logged;
};

test('a file that is wrong at its end is not imported at all; of a pipe the right beginning is, and the rest later', async () => {
  const events = await many();
  const file = join(root, 'log.ndjson');
  writeFileSync(file, linesOf(events));
  const wrong = join(root, 'wrong.ndjson');
  writeFileSync(wrong, linesOf([...events, ...chain(headAt(events.at(-1)!), [deleted('bob', 1n)])]));
  const copy = { DATA_DIR: join(root, 'copy') };
  const why = `broken at position ${MANY + 1}: plant 1 of "bob" is deleted, but did not exist`;
  const refused = await command(['audit', 'import', wrong], copy);
  expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(why) });
  expect(existsSync(copy.DATA_DIR)).toBe(false);
  const piped = ['-c', `cat ${wrong} | "$NODE" bin/plantstore.js audit import -`];
  const { code, stderr } = await run('bash', piped, { ...copy, NODE: process.execPath });
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(why) });
  expect(await command(['audit', 'verify'], copy)).toMatchObject({ code: 0 });
  const landed = (await command(['audit', 'export'], copy)).stdout;
  expect(landed.length).toBeGreaterThan(0);
  expect(linesOf(events).startsWith(landed)).toBe(true);
  expect(await command(['audit', 'import', file], copy)).toMatchObject({ code: 0 });
  expect((await command(['audit', 'export'], copy)).stdout === linesOf(events)).toBe(true);
});

test('an export of a part of the log is refused, and the message says how to export the whole', async () => {
  const events = await fill(added('alice', 1n), added('bob', 1n), added('alice', 2n));
  const file = join(root, 'part.ndjson');
  for (const [part, at] of [
    [events.slice(1), 1],
    [[events[0]!, events[2]!], 2],
  ] as const) {
    writeFileSync(file, linesOf(part));
    const { code, stderr } = await command(['audit', 'import', file], { DATA_DIR: join(root, 'copy') });
    const why = `the log is broken at position ${at}: the next event has position ${at + 1}; an import needs the whole log, exported without --after, --from, --owner and --id`;
    expect({ code, stderr }).toEqual({ code: 1, stderr: `plantstore: ${why}\n` });
  }
});

test('nothing is imported into a store that a service runs on', async () => {
  await some();
  const file = join(root, 'log.ndjson');
  writeFileSync(file, (await audit('export')).stdout);
  const { lockDataDirectory } = await import('../../../src/log/sqlite/lock.ts');
  const unlock = lockDataDirectory(data);
  const { code, stderr } = await audit('import', file);
  unlock();
  expect(code).toBe(1);
  expect(stderr).toContain('another process of plantstore uses the data directory');
});

test('an import does not end well while a reader keeps in a file of the store whom the log has erased', async () => {
  await some();
  const erases = { owner: 'alice', key: new Uint8Array(16), isCleared: false, isPublished: false };
  const source = openSqlite(data);
  const event = { type: 'OwnerErased', actor: 'operator', erased: 3, subject: subjectOf(erases) } as const;
  const erased = seal(await source.head(), event, crypto.randomUUID(), Date.now());
  await source.append([{ ...erased, erases }]);
  await source.close();
  const file = join(root, 'log.ndjson');
  writeFileSync(file, (await audit('export')).stdout);
  // Its name stays until the topic has the event.
  const copy = { DATA_DIR: join(root, 'copy'), KAFKA_BROKERS: 'localhost:9092' };
  await openSqlite(copy.DATA_DIR).close();
  const reader = new DatabaseSync(join(copy.DATA_DIR, DATABASE_FILE), { readOnly: true });
  reader.exec('BEGIN; SELECT count(*) FROM events');
  const heldUp = { code: 1, stderr: expect.stringContaining('may still be in the write-ahead log') };
  expect(await command(['audit', 'import', file], copy)).toMatchObject(heldUp);
  reader.close();
  expect(await command(['audit', 'import', file], copy)).toMatchObject({ code: 0 });
}, 30_000);
