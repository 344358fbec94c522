import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatCheckpoint } from '../../src/tlog/checkpoint.ts';
import { noteKey, noteSigner } from '../../src/tlog/ed25519.ts';
import { signNote } from '../../src/tlog/note.ts';
import { proveRecord } from '../../src/tlog/proof.ts';
import { formatTlogProof } from '../../src/tlog/tlog-proof.ts';
import { treeHash } from '../../src/tlog/tree.ts';
import { formatVerifierKey } from '../../src/tlog/verifier-key.ts';
import { MemoryTree } from '../support/memory-tree.ts';

/** The program of docs/transparency.md, which uses what browsers have and nothing else. */
const [, program] = /^```js\n(.*?)^```$/ms.exec(readFileSync('docs/transparency.md', 'utf8'))!;
const { checkReceipt } = (await import(`data:text/javascript,${encodeURIComponent(program!)}`)) as {
  checkReceipt(receipt: string, vkey: string): Promise<{ event: Uint8Array; position: number; size: number }>;
};

const { privateKey } = generateKeyPairSync('ed25519');
const vkey = formatVerifierKey(noteKey('log.example', privateKey));
const records = Array.from({ length: 600 }, (_, index) => Buffer.from(`event ${index}`));
const tree = new MemoryTree(records);

async function receiptOf(size: number, index: number): Promise<string> {
  const text = formatCheckpoint({ origin: 'log.example', size, root: await treeHash(size, tree.at(size)) });
  const checkpoint = signNote(text, [noteSigner('log.example', privateKey)]);
  const hashes = await proveRecord(size, index, tree.at(size));
  return formatTlogProof({ extra: records[index], index, hashes, checkpoint });
}

test('the program of the documentation has at most 60 lines', () => {
  expect(program!.trimEnd().split('\n').length).toBeLessThanOrEqual(60);
});

test('it checks every receipt, and refuses what was changed in one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 600 }), fc.nat(), fc.nat(), async (size, seed, place) => {
      const index = seed % size;
      const receipt = await receiptOf(size, index);
      const proved = await checkReceipt(receipt, vkey);
      expect({ ...proved, event: Buffer.from(proved.event) }).toEqual({
        event: records[index],
        position: index + 1,
        size,
      });
      // Anything but the end, where base64 has bits that say nothing.
      const at = place % (receipt.length - 4);
      const changed = receipt.slice(0, at) + (receipt[at] === 'B' ? 'C' : 'B') + receipt.slice(at + 1);
      await expect(
        checkReceipt(changed, vkey).then(({ event, position }) => [Buffer.from(event), position]),
      ).rejects.toThrow();
    }),
  );
});
