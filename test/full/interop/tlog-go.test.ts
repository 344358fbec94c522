import { spawn } from 'node:child_process';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { openMongo } from '../../../src/log/mongo/store.ts';
import { DATABASE_FILE, openSqlite } from '../../../src/log/sqlite/store.ts';
import { formatCheckpoint } from '../../../src/tlog/checkpoint.ts';
import { EMPTY_ROOT, formatHash } from '../../../src/tlog/hash.ts';
import { openNote, signNote } from '../../../src/tlog/note.ts';
import { proveRecord, proveTree } from '../../../src/tlog/proof.ts';
import { cosigner, noteSigner } from '../../../src/tlog/signer.ts';
import { treeHash } from '../../../src/tlog/tree.ts';
import { formatVerifierKey, parseVerifierKey } from '../../../src/tlog/verifier-key.ts';
import { openSqliteDatabase } from '../../store/sqlite-database.ts';
import { fill } from '../../support/fill.ts';
import { buildGo } from '../../support/go.ts';
import { client } from '../../support/http.ts';
import { MemoryTree } from '../../support/memory-tree.ts';
import { type Ended, plantstore } from '../../support/run.ts';
import { startService } from '../../support/service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const program = await buildGo('test/full/interop/tlog-check');

async function check(args: readonly string[], input = ''): Promise<Ended> {
  // Tessera's fsck may not end when a request has failed.
  const child = spawn(program!, args, { stdio: ['pipe', 'pipe', 'pipe'], timeout: 120_000 });
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, stdout, stderr };
}

describe.skipIf(program === undefined)("Go's sumdb/note and sumdb/tlog", () => {
  const checkpoint = formatCheckpoint({ origin: 'log.example', size: 0, root: EMPTY_ROOT });

  test('open what is signed and cosigned here', async () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const signers = [noteSigner('log.example', privateKey), cosigner('witness.example/w1', privateKey)];
    const keys = [noteSigner('log.example', privateKey).key, cosigner('witness.example/w1', privateKey).key];
    const vkeys = keys.map(formatVerifierKey);
    const opened = await check(['open', ...vkeys], signNote(checkpoint, signers));
    expect(opened).toEqual({ code: 0, stdout: checkpoint, stderr: '' });
    const [cut] = signers;
    expect(await check(['open', ...vkeys], signNote(checkpoint, [cut!]))).toMatchObject({ code: 1 });
  });

  test('sign and cosign what is opened here', async () => {
    const { stdout } = await check(['sign', 'log.example'], checkpoint);
    const [vkey, cosigning, ...note] = stdout.split('\n') as [string, string, ...string[]];
    const trusted = [vkey, cosigning].map((key) => parseVerifierKey(key));
    expect(openNote(note.join('\n'), trusted)).toMatchObject({ text: checkpoint, verified: [{}, {}] });
    expect([vkey, cosigning].map((key) => formatVerifierKey(parseVerifierKey(key)))).toEqual([vkey, cosigning]);
  });

  test('have the same roots and proofs of every tree up to 70 records', async () => {
    const { stdout } = await check(['vectors', '70']);
    const records = Array.from({ length: 70 }, (_, index) => Buffer.from(`${index}`));
    const tree = new MemoryTree(records);
    const listed = (hashes: readonly Uint8Array[]) => `[${hashes.map(formatHash).join(' ')}]`;
    const lines: string[] = [];
    for (let size = 1; size <= records.length; size++) {
      lines.push(`root ${size} ${formatHash(await treeHash(size, tree))}`);
      for (let index = 0; index < size; index++) {
        lines.push(`record ${size} ${index} ${listed((await proveRecord(size, index, tree)).proof)}`);
        lines.push(`tree ${size} ${index + 1} ${listed(await proveTree(size, index + 1, tree))}`);
      }
    }
    expect(stdout.trimEnd().split('\n')).toEqual(lines);
  });
});

const mongodbUri = inject('mongodbUri')?.replace('/?', `/plantstore-${randomUUID()}?`);
/** Full tiles of level 0 and a part of one. */
const EVENTS = 5_000;
/** Nodes of level 1 that they make. */
const NODES = 19;
/** More than a tile of level 1 has, so that there is one of level 2. All stores share the code that computes them. */
const THREE_LEVELS = 66_000;

const stores = [
  { name: 'SQLite', events: THREE_LEVELS, environment: {}, open: async (directory: string) => openSqlite(directory) },
  ...(mongodbUri === undefined
    ? []
    : [
        {
          ...{ name: 'MongoDB', events: EVENTS, environment: { MONGODB_URI: mongodbUri } },
          open: () => openMongo(mongodbUri),
        },
      ]),
];

describe.skipIf(program === undefined).each(stores)('a log on $name', ({ events, environment, open }) => {
  test("is whole to Tessera's fsck and proved by sumdb/tlog, while events are added", async () => {
    const directory = temporaryDirectory(onTestFinished);
    const store = await open(directory);
    await fill(store, events, 'alice');
    await store.close();
    // On a busy machine its requests wait, and do not fail.
    const settings = { ...environment, DATA_DIR: directory, MAX_WAIT: '20000' };
    const service = await startService(settings);
    try {
      const vkey = (await plantstore(['audit', 'key'], settings)).stdout.trim();
      const send = client(service.url, await service.token('bob'));
      let adding = true;
      const adds = (async () => {
        for (let id = 0; adding; id++) await send('POST', '/plants', { body: `{"id":${id},"name":"Fern"}` });
      })();
      const log = `${service.url}/log`;
      expect(await check(['fsck', log, vkey])).toMatchObject({ code: 0, stdout: 'whole\n' });
      expect(await check(['prove', log, vkey])).toMatchObject({ code: 0, stdout: 'proved\n' });
      adding = false;
      await adds;
    } finally {
      await service.stop();
    }
  });
});

test.skipIf(program === undefined)(
  "a log with a byte of an event changed is not served as whole, and not whole to Tessera's fsck",
  async () => {
    const directory = temporaryDirectory(onTestFinished);
    const store = openSqlite(directory);
    await fill(store, EVENTS, 'alice');
    await store.close();
    const vkey = (await plantstore(['audit', 'key'], { DATA_DIR: directory })).stdout.trim();
    const db = new DatabaseSync(join(directory, DATABASE_FILE), { timeout: 10_000 });
    const nodes = db.prepare('SELECT count(*) AS nodes FROM tree');
    const fsck = async () => {
      await using service = await startService({ DATA_DIR: directory });
      while (nodes.get()!.nodes !== NODES) await sleep(20);
      return await check(['fsck', `${service.url}/log`, vkey]);
    };
    expect(await fsck()).toMatchObject({ code: 0 });
    const tampering = openSqliteDatabase(directory);
    await tampering.change(300, ({ time }) => ({ time: time + 1 }));
    await tampering.close();
    const { code, stderr } = await fsck();
    expect(code).toBe(1);
    expect(stderr).toMatch(/tile\/entries\/001\S*: 503/);
    db.close();
  },
);
