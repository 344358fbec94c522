import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { RecordSchema } from '../../../gen/plantstore/v1/event_pb.ts';
import { PlantStoreService } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { checkReceipt } from '../../../src/audit/check-receipt.ts';
import { cosigner } from '../../../src/tlog/signer.ts';
import { formatTlogProof, parseTlogProof } from '../../../src/tlog/tlog-proof.ts';
import { formatVerifierKey, nameOfVerifierKey, parseLogKey, parseVerifierKey } from '../../../src/tlog/verifier-key.ts';
import { AUDIT_KEY_FILE } from '../../../src/transparency/log-key.ts';
import { command } from '../../support/command.ts';
import { client } from '../../support/http.ts';
import { startLocalService } from '../../support/local-service.ts';
import { callErrorOf, TRANSPORTS } from '../../support/protocols.ts';
import type { RunningService } from '../../support/running-service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const root = temporaryDirectory(afterAll);
const data = join(root, 'data');
let service: RunningService;
let vkey: string;

const audit = (args: readonly string[], environment: Record<string, string> = { DATA_DIR: data }) =>
  command(['audit', ...args], environment);

beforeAll(async () => {
  service = await startLocalService({ DATA_DIR: data });
  for (const owner of ['alice', 'bob']) {
    const send = client(service.url, await service.token(owner));
    for (let id = 1; id <= 3; id++) await send('POST', '/plants', { body: `{"id":${id},"name":"Fern ${id}"}` });
  }
  await client(service.url, await service.token('alice'))('DELETE', '/plants/1');
  vkey = (await audit(['key'])).stdout.trim();
});

afterAll(() => service.stop());

describe.each(TRANSPORTS)('over $name', ({ open }) => {
  const receiptOf = async (owner: string, position: bigint, scope?: string): Promise<string> => {
    const headers = { authorization: `Bearer ${await service.token(owner, scope)}` };
    return (await createClient(PlantStoreService, open(service)).getReceipt({ position }, { headers })).receipt;
  };

  test('an owner gets receipts for all of their events, as soon as they are acknowledged', async () => {
    const send = client(service.url, await service.token('alice'));
    const { headers } = await send('POST', '/plants', { body: `{"id":${Date.now()},"name":"Ivy"}` });
    const newest = BigInt(headers['plantstore-position'] as string);
    for (const position of [1n, 2n, 3n, 7n, newest]) {
      const { event, size } = checkReceipt(await receiptOf('alice', position), parseLogKey(vkey));
      expect(event).toMatchObject({ position: Number(position), event: { owner: 'alice' } });
      expect(size).toBeGreaterThanOrEqual(Number(position));
    }
  });

  test('and for no others, of which it is not told whether there are any', async () => {
    const refusals = [4n, 0n, -1n, 9_999n, 2n ** 63n - 1n].map((position) =>
      receiptOf('alice', position).catch((thrown: unknown) => callErrorOf(thrown)),
    );
    for (const refusal of await Promise.all(refusals))
      expect(refusal).toMatchObject({
        code: 5,
        reason: 'EVENT_NOT_FOUND',
        message: 'you have no event at this position',
      });
  });
});

test('a receipt tells what it proves, without a store, and of nothing that was changed in it', async () => {
  const file = join(root, '7.tlog-proof');
  const { stdout: receipt } = await audit(['receipt', '7']);
  writeFileSync(file, receipt);
  const nowhere = { DATA_DIR: join(root, 'nowhere') };
  const checked = await audit(['check-receipt', file, '--key', vkey], nowhere);
  expect(checked).toMatchObject({ code: 0, stderr: '' });
  expect(checked.stdout).toMatch(
    /^In the log plantstore\/\w+, the event at position 7 says that plant 1 of "alice" was deleted at 20/,
  );
  expect(checked.stdout).toMatch(/proved by the log's checkpoint of \d+ events\.\n$/);

  fc.assert(
    fc.property(fc.nat(receipt.length - 1), fc.constantFrom('A', 'z', '0', '=', '\n', ' '), (at, character) => {
      fc.pre(receipt[at] !== character);
      expect(() => checkReceipt(receipt.slice(0, at) + character + receipt.slice(at + 1), parseLogKey(vkey))).toThrow();
    }),
    { numRuns: 500 },
  );
  const proof = parseTlogProof(receipt);
  const another = parseTlogProof((await audit(['receipt', '6'])).stdout);
  expect(() => checkReceipt(formatTlogProof({ ...proof, extra: another.extra }), parseLogKey(vkey))).toThrow(
    'proves event 7',
  );
  expect(() => checkReceipt(formatTlogProof({ ...proof, extra: undefined }), parseLogKey(vkey))).toThrow(
    'does not contain the event',
  );
  const unknownField = Buffer.concat([proof.extra!, Buffer.from([0xf8, 0x07, 0x01])]);
  expect(() => checkReceipt(formatTlogProof({ ...proof, extra: unknownField }), parseLogKey(vkey))).toThrow(
    'a field that an event cannot have',
  );
  const stranger = formatVerifierKey({ ...parseVerifierKey(vkey), name: 'plantstore/0' });
  const wrong = await audit(['check-receipt', file, '--key', stranger], nowhere);
  const told = expect.stringContaining(`plantstore: the receipt in ${file} is not valid: `);
  expect(wrong).toMatchObject({ code: 1, stdout: '', stderr: told });
  const options = [
    ['--key', 'nonsense', 'a vkey has the form <name>+<8 hexadecimal digits>+<base64>'],
    ['--key', vkey.replace('plantstore/', 'plantstore/0'), 'malformed vkey: its id does not match its name and key'],
    ['--witness', vkey, `${vkey.split('+')[0]} is the key of a log, not that of a witness`],
  ] as const;
  for (const [option, value, why] of options) {
    const { code, stderr } = await audit(['check-receipt', file, '--key', vkey, option, value], nowhere);
    const told = `error: option '${option} <vkey>' argument '${value}' is invalid. Expected a vkey: ${why}.\n`;
    expect({ code, stderr }).toEqual({ code: 1, stderr: told });
  }
  for (const absent of ['0', '9999'])
    expect(await audit(['receipt', absent])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `plantstore: the log has no event at position ${absent}\n`,
    });
});

test('a receipt without the content proves the event, and no erasure', async () => {
  const { stdout: receipt } = await audit(['receipt', '7']);
  const proof = parseTlogProof(receipt);
  const withoutContent = (erasedBy: bigint) => {
    const { event } = fromBinary(RecordSchema, proof.extra!);
    return formatTlogProof({
      ...proof,
      extra: toBinary(RecordSchema, create(RecordSchema, { event: event!, erasedBy })),
    });
  };
  const file = join(root, 'without.tlog-proof');
  writeFileSync(file, withoutContent(1_000n));
  const { code, stdout } = await audit(['check-receipt', file, '--key', vkey]);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /the event at position 7 is a PlantDeleted of 20\S+, whose content the receipt does not show \(event \S+\); proved/,
  );
  for (const erasedBy of [1n, 7n])
    expect(() => checkReceipt(withoutContent(erasedBy), parseLogKey(vkey))).toThrow(
      `event ${erasedBy} erased event 7, but an erasure only removes the content of earlier events`,
    );
});

test('a receipt whose content was edited is said to be, and nothing is said of the log', async () => {
  const proof = parseTlogProof((await audit(['receipt', '7'])).stdout);
  const { event, content } = fromBinary(RecordSchema, proof.extra!);
  const edited = create(RecordSchema, { event: event!, content: { ...content!, actor: 'mallory' } });
  const file = join(root, 'edited.tlog-proof');
  writeFileSync(file, formatTlogProof({ ...proof, extra: toBinary(RecordSchema, edited) }));
  expect(await audit(['check-receipt', file, '--key', vkey])).toMatchObject({
    code: 1,
    stderr: `plantstore: the receipt in ${file} is not valid: the content in the receipt is not the one that event 7 commits to: it was changed\n`,
  });
});

test.each([
  ['one more, as by jq -r', (receipt: string) => `${receipt}\n`],
  ['none, as by "$(...)"', (receipt: string) => receipt.trimEnd()],
])('a receipt that was saved with another line break at its end says so: %s', async (_, saved) => {
  const file = join(root, 'saved.tlog-proof');
  const { stdout: receipt } = await audit(['receipt', '7']);
  writeFileSync(file, saved(receipt));
  const { code, stderr } = await audit(['check-receipt', file, '--key', vkey]);
  expect(code).toBe(1);
  expect(stderr).toContain('not valid: malformed note: it does not end with a signature line and one line feed; ');
  expect(stderr).toContain('save it unchanged, with jq -j');
});

test('what is longer than any receipt is not read to its end', async () => {
  const checked = await audit(['check-receipt', '/dev/zero', '--key', vkey]);
  expect(checked).toEqual({
    code: 1,
    stdout: '',
    stderr: 'plantstore: /dev/zero is not a receipt: it has more than 1,000,000 bytes\n',
  });
});

test('a receipt holds after the key was rotated, and after the log was moved to the other store', async ({ skip }) => {
  const { stdout: receipt } = await audit(['receipt', '2']);
  const { stdout: checkpoint } = await audit(['checkpoint']);
  const origin = vkey.split('+')[0]!;
  const exported = join(root, 'log.ndjson');
  writeFileSync(exported, (await audit(['export'])).stdout);
  writeFileSync(join(root, 'old.checkpoint'), checkpoint);
  const uri = inject('mongodbUri')?.replace('/?', `/plantstore-${randomUUID()}?`);
  if (uri === undefined) return skip();
  const moved = { DATA_DIR: join(root, 'moved'), MONGODB_URI: uri, LOG_ORIGIN: origin };
  expect((await audit(['import', exported], moved)).code).toBe(0);
  const { stdout: newKey } = await audit(['key'], moved);
  // Another data directory has another key.
  expect(newKey.startsWith(`${origin}+`)).toBe(true);
  expect(newKey.trim()).not.toBe(vkey);
  rmSync(join(moved.DATA_DIR, AUDIT_KEY_FILE));
  expect(checkReceipt(receipt, parseLogKey(vkey)).event.position).toBe(2);
  const verified = await audit(['verify', '--checkpoint', join(root, 'old.checkpoint'), '--key', vkey], moved);
  expect(verified).toMatchObject({ code: 0 });
  const { stdout: again } = await audit(['receipt', '2'], moved);
  const { stdout: thirdKey } = await audit(['key'], moved);
  const keys = [vkey, thirdKey].map((key) => key.split('+', 2).join('+'));
  expect(() => checkReceipt(again, parseLogKey(vkey))).toThrow(
    `no signature by ${keys[0]}; it is signed by ${keys[1]}`,
  );
  expect(checkReceipt(again, parseLogKey(thirdKey.trim())).event).toEqual(
    checkReceipt(receipt, parseLogKey(vkey)).event,
  );
});

test('a receipt without the cosignature of a witness names the witness', async () => {
  const { stdout: receipt } = await audit(['receipt', '1']);
  const witnesses = ['one.example', 'two.example'].map(
    (name) => cosigner(name, generateKeyPairSync('ed25519').privateKey).key,
  );
  const [one, two, log] = [...witnesses, parseLogKey(vkey)].map(nameOfVerifierKey);
  expect(() => checkReceipt(receipt, parseLogKey(vkey), witnesses)).toThrow(
    `lacks the cosignature of ${one}, ${two}; it is signed by ${log}`,
  );
});
