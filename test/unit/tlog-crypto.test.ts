import { generateKeyPairSync, sign } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import * as browser from '../../src/tlog/crypto.browser.ts';
import * as node from '../../src/tlog/crypto.ts';
import { noteSigner } from '../../src/tlog/signer.ts';
import { flipped } from '../support/proof-log.ts';

const data = fc.uint8Array({ maxLength: 300 });

test('the browser hashes as Node does', () => {
  fc.assert(
    fc.property(data, (bytes) => {
      expect(Buffer.from(browser.sha256(bytes))).toEqual(node.sha256(bytes));
    }),
  );
});

test('the browser accepts the signatures that Node accepts, and no other', () => {
  const { privateKey } = generateKeyPairSync('ed25519');
  const { publicKey } = noteSigner('log.example', privateKey).key;
  const verifiers = [node, browser].map(({ ed25519Verifier }) => ed25519Verifier(publicKey));
  fc.assert(
    fc.property(data, fc.nat(), (message, bit) => {
      const signature = new Uint8Array(sign(null, message, privateKey));
      for (const verify of verifiers) {
        expect(verify(message, signature)).toBe(true);
        expect(verify(message, flipped(signature, bit))).toBe(false);
        expect(verify(flipped(Uint8Array.of(...message, 0), bit), signature)).toBe(false);
      }
    }),
    { numRuns: 30 },
  );
});

test('no signature is valid for bytes that are no key', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), data, (publicKey, message) => {
      const signature = new Uint8Array(64);
      for (const { ed25519Verifier } of [node, browser])
        expect(ed25519Verifier(publicKey)(message, signature)).toBe(false);
    }),
    { numRuns: 30 },
  );
});
