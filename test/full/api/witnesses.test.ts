import { spawn } from 'node:child_process';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@connectrpc/connect';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { PlantStoreService } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { formatCheckpoint, parseCheckpoint } from '../../../src/tlog/checkpoint.ts';
import { EMPTY_ROOT } from '../../../src/tlog/hash.ts';
import { formatSignature, openNote, parseNote, signNote } from '../../../src/tlog/note.ts';
import { cosigner } from '../../../src/tlog/signer.ts';
import { formatVerifierKey, parseVerifierKey } from '../../../src/tlog/verifier-key.ts';
import { formatAddCheckpoint, parseAddCheckpoint } from '../../../src/tlog/witness-request.ts';
import { openLogSigner } from '../../../src/transparency/log-key.ts';
import { CHECKPOINT_FILE } from '../../../src/transparency/signed-checkpoint.ts';
import { createWitnessServer } from '../../../src/witness/server.ts';
import { Records, Witness } from '../../../src/witness/witness.ts';
import { openSqliteDatabase } from '../../store/sqlite-database.ts';
import { client, type Send } from '../../support/http.ts';
import { TRANSPORTS } from '../../support/protocols.ts';
import { plantstore, run } from '../../support/run.ts';
import { type Service, startService } from '../../support/service.ts';
import { storeState } from '../../support/store-state.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

// What was not cosigned at once would be after a minute anyhow.
vi.setConfig({ testTimeout: 60_000 });

let root: string;
let data: string;
let logVkey: string;
const servers: Server[] = [];
const records: Records[] = [];

beforeEach(async () => {
  root = temporaryDirectory(onTestFinished);
  data = join(root, 'data');
  const store = openSqlite(data);
  const settings = { auditSigningKey: undefined, dataDirectory: data, logOrigin: undefined };
  logVkey = formatVerifierKey((await openLogSigner(settings, store)).key);
  await store.close();
});

afterEach(async () => {
  for (const server of servers.splice(0)) await close(server);
  for (const opened of records.splice(0)) opened.close();
});

async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}

async function listen(server: Server, port = 0): Promise<string> {
  servers.push(server);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const newKey = (name: string) => {
  const { privateKey } = generateKeyPairSync('ed25519');
  return cosigner(name, privateKey);
};

/** A witness of our own, and its entry of WITNESSES. */
async function startWitness(name: string) {
  const signer = newKey(name);
  const known = parseVerifierKey(logVkey);
  const opened = new Records(join(root, name), [known.name]);
  records.push(opened);
  const witness = new Witness(signer, [known], opened, () => {});
  const server = createWitnessServer(witness);
  const url = await listen(server);
  return {
    url,
    server,
    witness,
    verifier: signer.key,
    entry: `${url}=${formatVerifierKey(signer.key)}`,
    records: opened,
  };
}

/** Something that should be a witness and is not, and its entry. */
async function startFalseWitness(answer: RequestListener) {
  const signer = newKey('false.example');
  const url = await listen(createServer(answer));
  return { entry: `${url}=${formatVerifierKey(signer.key)}`, signer };
}

const start = (witnesses: readonly string[], environment: Record<string, string> = {}) =>
  startService({ DATA_DIR: data, WITNESSES: witnesses.join(' '), ...environment });

const state = (service: Service) => storeState(service, { signing: 'signing_stopped' });

const sizeOf = (note: string): number => parseCheckpoint(parseNote(note).text).size;

/** The checkpoint that is served, once it has so many events. */
async function served(send: Send, size: number): Promise<string> {
  for (;;) {
    const { status, text } = await send('GET', '/log/checkpoint');
    if (status === 200 && sizeOf(text) >= size) return text;
    if (status !== 200) expect(status).toBe(503);
    await sleep(50);
  }
}

const add = async (send: Send, from: number, count: number): Promise<void> => {
  for (let id = from; id < from + count; id++)
    expect((await send('POST', '/plants', { body: `{"id":${id},"name":"Fern"}` })).status).toBe(200);
};

describe('a service with witnesses', () => {
  test('goes on without a witness that stopped, as the quorum allows, and waits for it where it does not', async () => {
    const [one, two] = [await startWitness('one.example'), await startWitness('two.example')];
    await using service = await start([one.entry, two.entry]);
    const send = client(service.url, await service.token('alice'));
    await add(send, 0, 5);
    const trusted = [parseVerifierKey(logVkey), one.verifier, two.verifier];
    expect(openNote(await served(send, 5), trusted).verified).toHaveLength(3);
    expect((await send('GET', '/log/proof/5')).text).toMatch(/— one\.example /);
    expect(await service.metric('plantstore_cosigned_checkpoint_events')).toBe(5);
    expect(await service.metric('plantstore_cosigned_checkpoint_age_seconds')).toBeLessThan(61);
    const { port } = two.server.address() as AddressInfo;
    await close(two.server);
    await add(send, 5, 5);
    const failures = () =>
      service.metric('plantstore_witness_requests_total', { witness: 'two.example', outcome: 'failed' });
    await expect.poll(failures).toBeGreaterThan(0);
    // Both are needed: what was cosigned is served on.
    expect(sizeOf(await served(send, 0))).toBe(5);
    await service.logged(({ msg, witness }) => msg === 'the witness did not cosign' && witness === 'two.example');
    const missing = 'no checkpoint includes this event yet; missing: the cosignature of two.example';
    // The round that failed may be that of a checkpoint before the last add.
    await expect
      .poll(() => send('GET', '/log/proof/10'), { timeout: 10_000 })
      .toMatchObject({ status: 404, text: expect.stringContaining(missing) });
    expect((await send('GET', '/log/proof/11')).text).toContain('the log does not have that many events');
    const headers = { authorization: `Bearer ${await service.token('alice')}` };
    for (const { open } of TRANSPORTS) {
      const receipt = createClient(PlantStoreService, open(service)).getReceipt({ position: 10n }, { headers });
      await expect(receipt).rejects.toThrow(`${missing}; try again`);
    }
    const again = createWitnessServer(two.witness);
    await listen(again, port);
    await served(send, 10);
    await service.logged(({ msg }) => msg === 'the witness cosigns again');
    await service.stop();

    await close(again);
    await using other = await start([one.entry, two.entry], { WITNESS_QUORUM: '1' });
    await add(client(other.url, await other.token('alice')), 10, 5);
    const note = await served(client(other.url), 15);
    expect(openNote(note, [one.verifier]).verified).toHaveLength(1);
  });

  const hugeAnswer = `— false.example ${'A'.repeat(200_000)}\n`;
  const nonsense: [string, RequestListener][] = [
    ['never answers', () => {}],
    ['breaks off', (_request, response) => response.destroy()],
    ['answers with a page', (_request, response) => response.end('<html>')],
    ['answers with nothing', (_request, response) => response.end()],
    ['answers without an end', (_request, response) => response.end(hugeAnswer)],
    ['redirects', (_request, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
    ['answers 409 without a size', (_request, response) => response.writeHead(409).end('nine')],
    ['answers 409 for ever', (_request, response) => response.writeHead(409).end('0\n')],
    ['has seen more than there is', (_request, response) => response.writeHead(409).end('1000000\n')],
    ['refuses', (_request, response) => response.writeHead(422).end('no')],
  ];
  test('writes, and checkpoints with another witness, go on beside one that is wrong in any way', async () => {
    const good = await startWitness('good.example');
    const wrong = await Promise.all(nonsense.map(([, answer]) => startFalseWitness(answer)));
    // One that cosigns another tree than it was asked to.
    const liar = await startFalseWitness(async (request, response) => {
      const { checkpoint } = parseAddCheckpoint(Buffer.concat(await request.toArray()).toString());
      const { origin, size } = parseCheckpoint(parseNote(checkpoint).text);
      response.end(formatSignature(liar.signer.sign(formatCheckpoint({ origin, size, root: EMPTY_ROOT }))));
    });
    const entries = [...wrong, liar].map(({ entry }) => entry);
    await using service = await start([good.entry, ...entries], { WITNESS_QUORUM: '1' });
    const send = client(service.url, await service.token('alice'));
    for (let round = 0; round < 5; round++) {
      await add(send, round * 20, 20);
      const note = await served(send, (round + 1) * 20);
      expect(parseNote(note).signatures.map(({ name }) => name)).toEqual([
        parseVerifierKey(logVkey).name,
        'good.example',
      ]);
    }
    await service.logged(
      ({ msg, level, witness }) =>
        msg === 'the witness did not cosign' && witness === 'false.example' && level !== 'info',
    );
    expect(service.logs.filter(({ level }) => level === 'fatal')).toEqual([]);
  });

  test('a witness that answers another root of the same size with 409, as the specification had it, is heard', async () => {
    const strict = await startFalseWitness(async (request, response) => {
      const { older } = parseAddCheckpoint(Buffer.concat(await request.toArray()).toString());
      response.writeHead(409).end(older === 5 ? '' : '5\n');
    });
    await using service = await start([strict.entry]);
    await add(client(service.url, await service.token('alice')), 0, 5);
    const told = await service.logged((line) => JSON.stringify(line).includes('does not extend'));
    expect(told).toMatchObject({ level: 'error', witness: 'false.example' });
    expect(JSON.stringify(told)).toContain('a checkpoint of 5 events, which this log of 5 does not extend');
  });

  test('a log that lost its end, or was written anew, finds no witness that cosigns it', async () => {
    const witness = await startWitness('one.example');
    const first = await start([witness.entry]);
    const send = client(first.url, await first.token('alice'));
    await add(send, 0, 10);
    await served(send, 10);
    await first.stop();
    // The same log id and key, and other events.
    const { db, close } = openSqliteDatabase(data);
    db.exec('DELETE FROM events; DELETE FROM plants; DELETE FROM tree; UPDATE checkpoints SET position = 0');
    await close();
    // What the log itself has kept of its checkpoints is gone too: only the witness remembers.
    rmSync(join(data, CHECKPOINT_FILE));
    const second = await start([witness.entry]);
    const again = client(second.url, await second.token('mallory'));
    await add(again, 0, 5);
    const ahead = await second.logged(({ msg }) => msg === 'the witness did not cosign');
    expect(JSON.stringify(ahead)).toContain('has cosigned a checkpoint of 10 events, but this log has');
    const why = 'has cosigned a checkpoint of 10 events, but this log has 5';
    await expect
      .poll(() => state(second))
      .toMatchObject({
        ...{ status: 200, signing: '1' },
        store: { ready: true, degraded: true, detail: expect.stringContaining(why) },
      });
    await add(again, 5, 10);
    const forked = () =>
      second.metric('plantstore_witness_requests_total', { witness: 'one.example', outcome: 'forked' });
    while ((await forked()) === 0) await sleep(100);
    expect(ahead.level).toBe('error');
    const told = await second.logged((line) => JSON.stringify(line).includes('does not extend'));
    expect(told).toMatchObject({ level: 'error', msg: 'the witness did not cosign', witness: 'one.example' });
    expect(JSON.stringify(told)).toMatch(
      /has cosigned a checkpoint of 10 events, which this log of 1\d does not extend/,
    );
    const auditor = client(second.url, await second.token('auditor', 'plants:audit'));
    const refused = await auditor('GET', '/log/checkpoint');
    expect(refused.status).toBe(503);
    expect(refused.text).toContain('a witness has cosigned events that this log does not have');
    const read = await auditor('POST', '/plantstore.v1.AuditService/GetHead', { body: '{}' });
    expect(read.status).toBe(200);
    expect(read.text).not.toContain('checkpoint');
    expect(witness.records.last(parseVerifierKey(logVkey).name).size).toBe(10);
    await second.stop();
  });
});

test('plantstore witness refuses the key of a witness as that of a log', async () => {
  const vkey = formatVerifierKey(cosigner('log.example', generateKeyPairSync('ed25519').privateKey).key);
  const key = join(root, 'witness.pem');
  const { code, stdout, stderr } = await run('timeout', [
    ...['20', process.execPath, 'bin/plantstore.js', 'witness', '--state', join(root, 'state'), '--port', '0'],
    ...['--key', key, '--name', 'cli.example/one', '--log', vkey],
  ]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('log.example is the key of a witness, not that of a log');
});

test('plantstore witness prints its vkey, cosigns for a service, and goes on where it was', async () => {
  const args = ['witness', '--key', join(root, 'witness.pem'), '--name', 'cli.example/one', '--log', logVkey];
  const started = async (host: string) => {
    const options = ['--state', join(root, 'state'), '--host', host, '--port', '0'];
    const child = spawn(process.execPath, ['bin/plantstore.js', ...args, ...options]);
    const [vkey] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    const errors = createInterface({ input: child.stderr });
    const [line] = (await once(errors, 'line')) as [string];
    return { child, vkey, url: line.replace('listening at ', ''), errors };
  };
  const first = await started('127.0.0.1');
  expect(parseVerifierKey(first.vkey)).toMatchObject({ name: 'cli.example/one', type: 4 });
  await using service = await start([`${first.url}=${first.vkey}`]);
  const send = client(service.url, await service.token('alice'));
  await add(send, 0, 3);
  const note = await served(send, 3);
  expect(openNote(note, [parseVerifierKey(first.vkey)]).verified).toHaveLength(1);
  first.child.kill('SIGTERM');
  expect(await once(first.child, 'close')).toEqual([0, null]);
  // Where the machine has IPv6, whose addresses have brackets in a URL.
  const own = Object.values(networkInterfaces()).flat();
  const host = own.some((each) => each?.address === '::1') ? '::1' : '127.0.0.1';
  const second = await started(host);
  expect(second.vkey).toBe(first.vkey);
  const origin = createHash('sha256').update(parseVerifierKey(logVkey).name).digest('hex');
  expect(await (await fetch(`${second.url}/${origin}/checkpoint`)).text()).toContain(note.split('\n\n')[0]);
  // The log shows it another history, by another way than the service.
  const settings = { auditSigningKey: undefined, dataDirectory: data, logOrigin: parseVerifierKey(logVkey).name };
  const signer = await openLogSigner(settings, { logId: async () => '' });
  const checkpoint = signNote(formatCheckpoint({ origin: signer.key.name, size: 3, root: EMPTY_ROOT }), [signer]);
  const body = formatAddCheckpoint({ older: 3, proof: [], checkpoint });
  const [[written], { status }] = await Promise.all([
    once(second.errors, 'line') as Promise<[string]>,
    fetch(`${second.url}/add-checkpoint`, { method: 'POST', body }),
  ]);
  expect(status).toBe(422);
  expect(written).toContain(`error: the log ${signer.key.name} has signed two checkpoints of 3 events (root `);
  // Nobody who connects and sends nothing, or half a request, keeps it from ending.
  const { port } = new URL(second.url);
  for (const sent of ['', 'POST /add-checkpoint HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nold']) {
    const socket = connect(Number(port), host).on('error', () => {});
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    socket.write(sent);
  }
  // It has accepted those before.
  expect((await fetch(second.url)).status).toBe(404);
  second.child.kill('SIGTERM');
  expect(await once(second.child, 'close')).toEqual([0, null]);
  const wrong = await plantstore([...args.slice(0, -1), 'no vkey']);
  expect(wrong).toMatchObject({ code: 1, stdout: '' });
  expect(wrong.stderr).toContain('Expected a vkey');
});
