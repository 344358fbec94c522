import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { pause } from '../../src/time/pause.ts';
import { formatCheckpoint } from '../../src/tlog/checkpoint.ts';
import { EMPTY_ROOT, formatHash, sha256 } from '../../src/tlog/hash.ts';
import { openNote, parseSignatures, signatureBy, signNote } from '../../src/tlog/note.ts';
import { proveTree } from '../../src/tlog/proof.ts';
import { cosigner, noteSigner } from '../../src/tlog/signer.ts';
import { treeHash } from '../../src/tlog/tree.ts';
import { formatAddCheckpoint, parseAddCheckpoint, parseSize } from '../../src/tlog/witness-request.ts';
import {
  type Post,
  statusOfUnsigned,
  WitnessAheadError,
  WitnessClient,
  WitnessForkedError,
} from '../../src/transparency/witness-client.ts';
import { createWitnessServer } from '../../src/witness/server.ts';
import { Records, Witness } from '../../src/witness/witness.ts';
import { MemoryTree } from '../support/memory-tree.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const ORIGIN = 'log.example';
const keys = { log: generateKeyPairSync('ed25519').privateKey, witness: generateKeyPairSync('ed25519').privateKey };
const logKey = noteSigner(ORIGIN, keys.log).key;
const witnessKey = cosigner('witness.example', keys.witness).key;
const signer = noteSigner(ORIGIN, keys.log);

const treeOf = (prefix: string) =>
  new MemoryTree(Array.from({ length: 600 }, (_, index) => Buffer.from(`${prefix}${index}`)));
const trees = { real: treeOf(''), forked: treeOf('other ') };

const checkpointOf = async (tree: MemoryTree, size: number, origin = ORIGIN) =>
  signNote(formatCheckpoint({ origin, size, root: await treeHash(size, tree) }), [signer]);

/** What a log with this tree asks. */
const request = async (older: number, size: number, tree = trees.real) =>
  formatAddCheckpoint({
    older,
    proof: older <= size ? await proveTree(size, older, tree) : [],
    checkpoint: await checkpointOf(tree, size),
  });

let folder: string;
let records: Records;
let witness: Witness;
/** What the witness wrote. */
let lines: string[];

const open = () => {
  records = new Records(folder, [ORIGIN]);
  lines = [];
  witness = new Witness(cosigner('witness.example', keys.witness), [logKey], records, (line) => lines.push(line));
};

beforeEach(() => {
  folder = temporaryDirectory(onTestFinished);
  open();
});

afterEach(() => {
  records.close();
});

describe('a witness', () => {
  test('cosigns every checkpoint that begins with the last one, also after it was started anew', async () => {
    let older = 0;
    for (const size of [0, 1, 2, 255, 255, 256, 300, 600]) {
      const body = await request(older, size);
      const reply = witness.addCheckpoint(body);
      expect(reply).toMatchObject({ status: 200 });
      const { text } = openNote(parseAddCheckpoint(body).checkpoint, [logKey]);
      expect(signatureBy(witnessKey, { text, signatures: parseSignatures(reply.body) })).toBeDefined();
      const kept = openNote(witness.checkpoint(() => true)!, [logKey, witnessKey]);
      expect(kept).toMatchObject({ text, verified: [{}, {}] });
      older = size;
      records.close();
      open();
    }
  });

  test('refuses with the status that the specification has', async () => {
    expect(witness.addCheckpoint(await request(0, 300)).status).toBe(200);
    const proof = await proveTree(400, 300, trees.real);
    const checkpoint = await checkpointOf(trees.real, 400);
    const forged = checkpoint.replace('\n400\n', '\n401\n');
    const other = generateKeyPairSync('ed25519').privateKey;
    const cases: [string, number, string][] = [
      ['a fork', 422, formatAddCheckpoint({ older: 300, proof, checkpoint: await checkpointOf(trees.forked, 400) })],
      ['a fork of the same size', 422, await request(300, 300, trees.forked)],
      [
        'a proof where there is nothing to prove',
        422,
        formatAddCheckpoint({ older: 300, proof, checkpoint: await checkpointOf(trees.real, 300) }),
      ],
      ['no proof', 422, formatAddCheckpoint({ older: 300, proof: [], checkpoint })],
      ['another older size', 409, await request(200, 400)],
      ['a dropped end', 400, await request(300, 200)],
      ['a dropped end, built on less', 409, await request(100, 200)],
      ['a forged size', 403, formatAddCheckpoint({ older: 300, proof, checkpoint: forged })],
      [
        'another key',
        403,
        formatAddCheckpoint({ older: 300, proof, checkpoint: checkpoint.replace(/(— \S+) .{6}/, '$1 AAAAAA') }),
      ],
      [
        'an unknown log',
        404,
        formatAddCheckpoint({ older: 0, proof: [], checkpoint: await checkpointOf(trees.real, 1, 'other.example') }),
      ],
      [
        'a key that only has the name',
        403,
        formatAddCheckpoint({
          older: 300,
          proof,
          checkpoint: signNote(formatCheckpoint({ origin: ORIGIN, size: 400, root: EMPTY_ROOT }), [
            noteSigner(ORIGIN, other),
          ]),
        }),
      ],
      ['nothing', 400, ''],
      ['no checkpoint', 400, 'old 300\n\n'],
      ['a leading zero', 400, (await request(300, 400)).replace('old 300', 'old 0300')],
      ['too many hashes', 400, formatAddCheckpoint({ older: 300, proof: Array(64).fill(EMPTY_ROOT), checkpoint })],
    ];
    for (const [name, status, body] of cases) expect(witness.addCheckpoint(body).status, name).toBe(status);
    const conflict = witness.addCheckpoint(await request(200, 400));
    expect(conflict).toMatchObject({ type: 'text/x.tlog.size', body: '300\n' });
    expect(witness.addCheckpoint(await request(300, 400)).status).toBe(200);
  });

  test('writes a line for each other history that it is shown, and no stranger makes it write more', async () => {
    const [real, forked] = [await request(0, 300), await request(300, 300, trees.forked)];
    const rootOf = async (tree: MemoryTree, size: number) => formatHash(await treeHash(size, tree));
    expect(witness.addCheckpoint(real).status).toBe(200);
    const known = `300 events (root ${await rootOf(trees.real, 300)})`;
    for (let times = 0; times < 3; times++) expect(witness.addCheckpoint(forked).status).toBe(422);
    expect(lines.splice(0)).toEqual([
      `error: the log log.example has signed two checkpoints of ${known}: the other has the root ${await rootOf(trees.forked, 300)}`,
    ]);
    for (let times = 0; times < 3; times++)
      expect(witness.addCheckpoint(await request(300, 400, trees.forked)).status).toBe(422);
    expect(lines.splice(0)).toEqual([
      `error: the log log.example did not prove that its checkpoint of 400 events (root ${await rootOf(trees.forked, 400)}) extends the cosigned one of ${known}`,
    ]);
    // Neither a stranger's checkpoint nor a wrong proof of a right one is another history.
    const { checkpoint } = parseAddCheckpoint(real);
    const unsigned = forked.replace(/(— \S+) .{6}/, '$1 AAAAAA');
    expect(witness.addCheckpoint(unsigned).status).toBe(403);
    expect(witness.addCheckpoint(formatAddCheckpoint({ older: 300, proof: [EMPTY_ROOT], checkpoint })).status).toBe(
      422,
    );
    expect(lines).toEqual([]);
    for (let size = 301; size <= 500; size++) witness.addCheckpoint(await request(300, size, trees.forked));
    expect(lines.length).toBeLessThanOrEqual(100);
    // It writes again of what comes after the next checkpoint.
    expect(witness.addCheckpoint(await request(300, 500)).status).toBe(200);
    lines = [];
    witness.addCheckpoint(await request(500, 600, trees.forked));
    expect(lines).toHaveLength(1);
  });

  test('wants the root of the empty tree for no events, and no proof that builds on nothing', async () => {
    const ofNothing = (root: Uint8Array) =>
      formatAddCheckpoint({
        older: 0,
        proof: [],
        checkpoint: signNote(formatCheckpoint({ origin: ORIGIN, size: 0, root }), [signer]),
      });
    expect(witness.addCheckpoint(ofNothing(sha256(Buffer.from('x')))).status).toBe(422);
    expect(witness.addCheckpoint(ofNothing(EMPTY_ROOT)).status).toBe(200);
    const checkpoint = await checkpointOf(trees.real, 5);
    expect(witness.addCheckpoint(formatAddCheckpoint({ older: 0, proof: [EMPTY_ROOT], checkpoint })).status).toBe(422);
  });

  test('takes each of the keys that a log has', async () => {
    const next = generateKeyPairSync('ed25519').privateKey;
    const both = new Witness(
      cosigner('witness.example', keys.witness),
      [logKey, noteSigner(ORIGIN, next).key],
      records,
      () => {},
    );
    expect(both.addCheckpoint(await request(0, 10)).status).toBe(200);
    const text = formatCheckpoint({ origin: ORIGIN, size: 20, root: await treeHash(20, trees.real) });
    const checkpoint = signNote(text, [noteSigner(ORIGIN, next)]);
    const proof = await proveTree(20, 10, trees.real);
    expect(both.addCheckpoint(formatAddCheckpoint({ older: 10, proof, checkpoint })).status).toBe(200);
  });

  test('is understood by the client of a log, whatever it answers', async () => {
    const server = createWitnessServer(witness).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const cosign = async (client: WitnessClient, size: number, tree = trees.real, origin = ORIGIN, by = signer) => {
      const checkpoint = { origin, size, root: await treeHash(size, tree) };
      const note = signNote(formatCheckpoint(checkpoint), [by]);
      return client.cosign({ ...checkpoint, note }, new AbortController().signal);
    };
    const clientOf = (tree = trees.real) => new WitnessClient({ url, key: witnessKey }, tree);
    const known = clientOf();
    await cosign(known, 300);
    // 409 with the size: one that knows nothing yet is told what to build on.
    await cosign(clientOf(), 400);
    await cosign(known, 400);
    await expect(cosign(known, 350)).rejects.toThrow(WitnessAheadError);
    // At the same size, and beyond it.
    await expect(cosign(clientOf(trees.forked), 400, trees.forked)).rejects.toThrow(WitnessForkedError);
    await expect(cosign(clientOf(trees.forked), 500, trees.forked)).rejects.toThrow(WitnessForkedError);
    await expect(cosign(known, 500, trees.real, 'other.example')).rejects.toThrow('answered 404 ');
    const stranger = noteSigner(ORIGIN, generateKeyPairSync('ed25519').privateKey);
    await expect(cosign(known, 500, trees.real, ORIGIN, stranger)).rejects.toThrow('answered 403 ');
    await expect(cosign(known, 500, trees.real, '')).rejects.toThrow('answered 400 ');
    await cosign(known, 500);
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  test('may take its time for each answer, and not for ever', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    let milliseconds = 4_000;
    const slow: Post = async (_, body, signal) => {
      await pause(milliseconds, signal);
      signal.throwIfAborted();
      return witness.addCheckpoint(body);
    };
    const client = new WitnessClient({ url: new URL('http://witness.example'), key: witnessKey }, trees.real, slow);
    const cosign = async (size: number) => {
      const checkpoint = { origin: ORIGIN, size, root: await treeHash(size, trees.real) };
      const note = signNote(formatCheckpoint(checkpoint), [signer]);
      return client.cosign({ ...checkpoint, note }, new AbortController().signal);
    };
    // Another instance has shown it more meanwhile, so that it is asked twice.
    expect(witness.addCheckpoint(await request(0, 10)).status).toBe(200);
    const cosigned = expect(cosign(20)).resolves.toMatchObject({ name: 'witness.example' });
    await vi.advanceTimersByTimeAsync(8_000);
    await cosigned;
    milliseconds = 6_000;
    const refused = expect(cosign(30)).rejects.toThrow('the witness witness.example did not answer in 5 s');
    await vi.advanceTimersByTimeAsync(5_000);
    await refused;
  });

  test('two processes on the same records do not cosign past each other', async () => {
    const second = new Records(folder, [ORIGIN]);
    const other = new Witness(cosigner('witness.example', keys.witness), [logKey], second, () => {});
    const ours = await request(0, 10);
    const theirs = await request(0, 10, trees.forked);
    // The other one is faster between the look and the write.
    const replace = records.replace.bind(records);
    records.replace = (...args) => {
      records.replace = replace;
      expect(other.addCheckpoint(theirs).status).toBe(200);
      return replace(...args);
    };
    expect(witness.addCheckpoint(ours)).toMatchObject({ status: 409, body: '10\n' });
    second.close();
  });

  test('a fault that ends requests, such as a full disk, is written once until something is cosigned', async () => {
    const server = createWitnessServer(witness).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/add-checkpoint`;
    const post = async (older: number, size: number) =>
      (await fetch(url, { method: 'POST', body: await request(older, size) })).status;
    const replace = records.replace.bind(records);
    const fail = () => {
      throw new Error('database or disk is full');
    };
    for (const [older, size] of [
      [0, 10],
      [10, 20],
    ] as const) {
      records.replace = fail;
      expect([await post(older, size), await post(older, size)]).toEqual([500, 500]);
      records.replace = replace;
      expect(await post(older, size)).toBe(200);
    }
    const line = 'error: a request failed: database or disk is full';
    expect(lines).toEqual([line, line]);
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  test('over HTTP: requests, what monitors ask, and what is too much', async () => {
    const server = createWitnessServer(witness).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const post = (body: string) => fetch(`${url}/add-checkpoint`, { method: 'POST', body });
    const monitored = `${url}/${Buffer.from(sha256(Buffer.from(ORIGIN))).toString('hex')}/checkpoint`;
    expect((await fetch(monitored)).status).toBe(404);
    expect((await post(await request(0, 10))).status).toBe(200);
    const conflict = await post(await request(0, 10));
    expect([conflict.status, conflict.headers.get('content-type')]).toEqual([409, 'text/x.tlog.size']);
    expect(parseSize(await conflict.text())).toBe(10);
    const note = await (await fetch(monitored)).text();
    expect(openNote(note, [logKey, witnessKey]).verified).toHaveLength(2);
    const head = await fetch(monitored, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(Buffer.byteLength(note))]);
    expect((await fetch(monitored, { method: 'POST' })).status).toBe(404);
    expect((await post('x'.repeat(200_000))).status).toBe(413);
    expect((await fetch(`${url}/add-checkpoint`)).status).toBe(404);
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
});

test('of the answer of a witness no more is read than it may have', async () => {
  let open: Promise<unknown> | undefined;
  const server = createServer((_, response) => {
    open = once(response, 'close');
    const send = () => {
      while (!response.destroyed && response.write('x'.repeat(60_000)));
    };
    response.on('drain', send);
    send();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const asked = statusOfUnsigned(url, ORIGIN, AbortSignal.timeout(5_000));
  await expect(asked).rejects.toThrow('the witness answered with more than 65536 bytes');
  await open;
  server.close();
  await once(server, 'close');
});
