import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeContent } from '../../../src/log/event/encode.ts';
import { EMPTY_HEAD } from '../../../src/log/event/event.ts';
import { provenRecordBytes } from '../../../src/log/event/record.ts';
import { formatCheckpoint } from '../../../src/tlog/checkpoint.ts';
import { signNote } from '../../../src/tlog/note.ts';
import { proveRecord } from '../../../src/tlog/proof.ts';
import { noteSigner } from '../../../src/tlog/signer.ts';
import { formatTlogProof } from '../../../src/tlog/tlog-proof.ts';
import { treeHash } from '../../../src/tlog/tree.ts';
import { formatVerifierKey } from '../../../src/tlog/verifier-key.ts';
import { eventArbitrary } from '../../support/arbitraries.ts';
import { chain } from '../../support/events.ts';
import { MemoryTree } from '../../support/memory-tree.ts';
import { withoutContent } from '../../support/tampering.ts';

/** The program of docs/transparency.md, which uses what browsers have and nothing else. */
const [, program] = /^```js\n(.*?)^```$/ms.exec(readFileSync('docs/transparency.md', 'utf8'))!;
const { checkReceipt } = (await import(`data:text/javascript,${encodeURIComponent(program!)}`)) as {
  checkReceipt(
    receipt: string,
    vkey: string,
  ): Promise<{ event: Uint8Array; content: Uint8Array | undefined; position: number; size: number }>;
};

const { privateKey } = generateKeyPairSync('ed25519');
const vkey = formatVerifierKey(noteSigner('log.example', privateKey).key);
const events = chain(EMPTY_HEAD, fc.sample(eventArbitrary, 600));
const tree = new MemoryTree(events.map(({ bytes }) => Buffer.from(bytes)));

async function receiptOf(size: number, index: number, extra = provenRecordBytes(events[index]!)): Promise<string> {
  const text = formatCheckpoint({ origin: 'log.example', size, root: await treeHash(size, tree) });
  const checkpoint = signNote(text, [noteSigner('log.example', privateKey)]);
  const { proof: hashes } = await proveRecord(size, index, tree);
  return formatTlogProof({ extra, index, hashes, checkpoint });
}

test('the program of the documentation has at most 60 lines', () => {
  expect(program!.trimEnd().split('\n').length).toBeLessThanOrEqual(60);
});

test('it checks every receipt, and proves nothing else when one is changed', async () => {
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 600 }), fc.nat(), fc.nat(), async (size, seed, place) => {
      const index = seed % size;
      const receipt = await receiptOf(size, index);
      const proved = await checkReceipt(receipt, vkey);
      const { event, salt } = events[index]!;
      expect({ ...proved, event: Buffer.from(proved.event), content: Buffer.from(proved.content!) }).toEqual({
        event: events[index]!.bytes,
        content: Buffer.from(encodeContent(event!, salt!)),
        position: index + 1,
        size,
      });
      const at = place % receipt.length;
      const changed = receipt.slice(0, at) + (receipt[at] === 'B' ? 'C' : 'B') + receipt.slice(at + 1);
      // Some characters say nothing, such as the dash before a signature or the last bits of base64: what is proved is
      // then the same.
      const outcome = await checkReceipt(changed, vkey).catch((refusal: Error) => refusal);
      if (outcome instanceof Error) refused++;
      else expect(outcome).toEqual(proved);
    }),
  );
  expect(refused).toBeGreaterThan(50);
});

test('the receipt for an erased event proves the event, without its content', async () => {
  const receipt = await receiptOf(600, 7, provenRecordBytes(withoutContent(events[7]!, 300)));
  const { event, content, position } = await checkReceipt(receipt, vkey);
  expect({ event: Buffer.from(event), content, position }).toEqual({
    event: events[7]!.bytes,
    content: undefined,
    position: 8,
  });
});

test('a receipt whose content is there under another tag, or is left out, proves nothing', async () => {
  const logged = events[7]!;
  const record = provenRecordBytes(logged);
  const tagAt = record.indexOf(0x12, 2 + logged.bytes.length);
  const others = Array.from({ length: 256 }, (_, tag) => tag).filter((tag) => tag !== record[tagAt]);
  const records = [
    provenRecordBytes({ ...logged, content: undefined }),
    ...others.map((tag) => Uint8Array.from(record, (byte, at) => (at === tagAt ? tag : byte))),
  ];
  const checked = records.map(async (bytes) => checkReceipt(await receiptOf(600, 7, bytes), vkey));
  const outcomes = await Promise.allSettled(checked);
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toEqual([]);
});
