import { generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatCheckpoint, parseCheckpoint } from '../../src/tlog/checkpoint.ts';
import { EMPTY_ROOT, sha256 } from '../../src/tlog/hash.ts';
import { cosignedAt, openNote, parseNote, parseSignatures, signatureBy, signNote } from '../../src/tlog/note.ts';
import { cosigner, noteSigner } from '../../src/tlog/signer.ts';
import { formatTlogProof, parseTlogProof } from '../../src/tlog/tlog-proof.ts';
import { formatVerifierKey, isKeyName, keyId, parseVerifierKey } from '../../src/tlog/verifier-key.ts';

/** The example of c2sp.org/signed-note, "Verifier keys". */
const EXAMPLE_KEY = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k';
const EXAMPLE = `This is an example message.

— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=
`;

const [one, two] = [generateKeyPairSync('ed25519').privateKey, generateKeyPairSync('ed25519').privateKey];
const signers = { one: noteSigner('one.example', one), two: noteSigner('two.example', two) };
const verifiers = { one: noteSigner('one.example', one).key, two: noteSigner('two.example', two).key };

const keyName = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).filter(isKeyName);
const noteText = fc
  .string({ unit: 'binary', maxLength: 60 })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those that a note may not have
  .map((text) => `${text.replaceAll(/[\x00-\x09\x0b-\x1f]/g, '\n')}\n`);

describe('vkeys', () => {
  test("the specification's example is read and written", () => {
    const key = parseVerifierKey(EXAMPLE_KEY);
    expect([key.name, key.type, keyId(key).toString(16)]).toEqual(['example.com/foo', 1, '530d903a']);
    expect(formatVerifierKey(key)).toBe(EXAMPLE_KEY);
  });

  test('of any name and both types come back; what is changed in any character does not', () => {
    fc.assert(
      fc.property(keyName, fc.constantFrom(noteSigner, cosigner), fc.nat(), (name, signerOf, seed) => {
        const { key } = signerOf(name, one);
        const text = formatVerifierKey(key);
        expect(parseVerifierKey(text)).toEqual({ ...key, publicKey: expect.anything() });
        const at = seed % text.length;
        const changed = text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
        expect(() => parseVerifierKey(changed)).toThrow();
      }),
    );
    const [name, id, material] = EXAMPLE_KEY.split('+') as [string, string, string];
    for (const other of ['', `${name}+${id}`, `+${id}+${material}`, `${name} +${id}+${material}`, `${EXAMPLE_KEY}\n`])
      expect(() => parseVerifierKey(other), other).toThrow();
    expect(() => parseVerifierKey(formatVerifierKey(noteSigner('fern\ud800', one).key))).toThrow('a vkey has the form');
    // An ML-DSA-44 key, which is known by its type.
    expect(() => parseVerifierKey(`${name}+${id}+Bg==`)).toThrow('not that of an Ed25519 key');
  });
});

describe('notes', () => {
  test('a byte order mark in a name is no space', () => {
    const signer = noteSigner('log\ufeff.example', one);
    const note = signNote('text\n', [signers.two, signer]);
    expect(openNote(note, [signer.key]).text).toBe('text\n');
    expect(openNote(note, [verifiers.two]).text).toBe('text\n');
  });

  test("the specification's example is opened by its key, and by no other", () => {
    const verifier = parseVerifierKey(EXAMPLE_KEY);
    expect(openNote(EXAMPLE, [verifier])).toMatchObject({ text: 'This is an example message.\n' });
    expect(() => openNote(EXAMPLE, [verifiers.one])).toThrow('no signature by');
    // Keys of one name are told apart by their ids.
    const namesake = noteSigner(verifier.name, one).key;
    const [asked, signer] = [namesake, verifier].map((key) => formatVerifierKey(key).split('+', 2).join('+'));
    expect(asked).not.toBe(signer);
    expect(() => openNote(EXAMPLE, [namesake])).toThrow(`no signature by ${asked}; it is signed by ${signer}`);
    expect(() => openNote(EXAMPLE.replace('example message', 'Example message'), [verifier])).toThrow('is invalid');
  });

  test('any text is opened as it was signed, by whichever keys are trusted', () => {
    fc.assert(
      fc.property(noteText, (text) => {
        const note = signNote(text, [signers.one, signers.two]);
        expect(openNote(note, [verifiers.two])).toMatchObject({ text, verified: [{ name: 'two.example' }] });
        expect(openNote(note, [verifiers.one, verifiers.two]).verified).toHaveLength(2);
        expect(() => openNote(note, [])).toThrow('no signature by');
        expect(parseNote(note).text).toBe(text);
      }),
    );
  });

  test('one wrong signature of a trusted key spoils the note; unknown keys of the same name or id do not', () => {
    const note = signNote('text\n', [signers.one, signers.two]);
    const forged = note.replace(/(one\.example \S{20})(.)/, (_, start, at) => start + (at === 'A' ? 'B' : 'A'));
    expect(() => openNote(forged, [verifiers.one, verifiers.two])).toThrow('the signature of one.example is invalid');
    expect(openNote(forged, [verifiers.two]).verified).toHaveLength(1);
    expect(openNote(note, [noteSigner('one.example', two).key, verifiers.two]).verified).toHaveLength(1);
    expect(openNote(note, [{ ...verifiers.one, name: 'other' }, verifiers.two]).verified).toHaveLength(1);
    const doubled = note + note.slice(note.indexOf('—'));
    expect(openNote(doubled, [verifiers.one]).verified).toHaveLength(1);
  });

  test.each([
    ['no signature', 'text\n\n'],
    ['no empty line', EXAMPLE.replace('\n\n', '\n')],
    ['no line feed at the end', EXAMPLE.slice(0, -1)],
    ['a control character', EXAMPLE.replace('This', 'This\t')],
    ['a carriage return', EXAMPLE.replaceAll('\n', '\r\n')],
    ['a hyphen for the dash', EXAMPLE.replace('—', '-')],
    ['two blanks', EXAMPLE.replace('— ', '—  ')],
    ['a plus in the name', EXAMPLE.replace('com/foo', 'com+foo')],
    ['base64 that is cut', EXAMPLE.replace('=\n', '\n')],
    ['base64 with other bits at the end', EXAMPLE.replace('aQM=', 'aQN=')],
    ['an id alone', EXAMPLE.replace(/Uw2Q.*/, 'Uw2QOg==')],
    ['a lone surrogate', `\ud800${EXAMPLE}`],
    ['more signatures than are read', EXAMPLE + EXAMPLE.slice(EXAMPLE.indexOf('—')).repeat(100)],
  ])('is refused: %s', (_, note) => {
    expect(() => openNote(note, [parseVerifierKey(EXAMPLE_KEY)])).toThrow(/^(malformed note:|the note has more)/);
  });

  test('only texts that a note may have are signed', () => {
    for (const text of ['', 'no line feed', 'tab\t\n', '\ud800\n'])
      expect(() => signNote(text, [signers.one])).toThrow('the text of a note must');
  });

  test('sixteen signatures and more are read', () => {
    const note = signNote('text\n', [signers.one]);
    const lines = note.slice(note.indexOf('—'));
    expect(parseSignatures(lines.repeat(20))).toHaveLength(20);
  });
});

describe('checkpoints', () => {
  test('come back as they were; extension lines are passed over', () => {
    fc.assert(
      fc.property(keyName, fc.maxSafeNat(), fc.uint8Array(), (origin, size, data) => {
        const checkpoint = { origin, size, root: sha256(data) };
        expect(parseCheckpoint(formatCheckpoint(checkpoint))).toEqual(checkpoint);
        expect(parseCheckpoint(`${formatCheckpoint(checkpoint)}more\n`)).toEqual(checkpoint);
      }),
    );
  });

  const text = formatCheckpoint({ origin: 'log.example', size: 10, root: EMPTY_ROOT });
  test.each([
    ['no origin', text.replace('log.example', '')],
    ['a leading zero', text.replace('10', '010')],
    ['a sign', text.replace('10', '+10')],
    ['a size beyond what is exact', text.replace('10', '9007199254740993')],
    ['no root', 'log.example\n10\n'],
    ['a short root', text.replace('47DE', '')],
    ['no line feed at the end', text.slice(0, -1)],
    ['an empty extension', `${text}\n`],
    ['nothing', ''],
  ])('is refused: %s', (_, other) => expect(() => parseCheckpoint(other)).toThrow(/malformed/));
});

describe('cosignatures', () => {
  const checkpoint = formatCheckpoint({ origin: 'log.example', size: 10, root: EMPTY_ROOT });
  const verifier = cosigner('witness.example', two).key;

  test('sign a checkpoint and the time, each of which can be told from it', () => {
    const note = signNote(checkpoint, [signers.one, cosigner('witness.example', two, () => 1_679_315_147_999)]);
    const { verified } = openNote(note, [verifier]);
    expect(cosignedAt(verified[0]!.bytes)).toBe(1_679_315_147_000);
    expect(() => openNote(note.replace('\n10\n', '\n11\n'), [verifier])).toThrow('is invalid');
    // The same key under its other type is another key.
    expect(() => openNote(note, [noteSigner('witness.example', two).key])).toThrow('no signature by');
  });

  test('never state an earlier time than the one before, although the clock is set back', () => {
    const times = [5_000, 2_000, 7_000];
    const witness = cosigner('witness.example', two, () => times.shift()!);
    const stated = [1, 2, 3].map(() => cosignedAt(witness.sign(checkpoint).bytes));
    expect(stated).toEqual([5_000, 5_000, 7_000]);
  });

  test('of a time beyond an int64 are refused', () => {
    const at = (seconds: bigint) => {
      const note = signNote(checkpoint, [cosigner('witness.example', two, () => Number(seconds * 1_000n))]);
      return () => openNote(note, [verifier]);
    };
    expect(at(2n ** 62n)().verified).toHaveLength(1);
    expect(at(2n ** 63n)).toThrow('is invalid');
  });

  test('of another time, of a note, or cut short are refused', () => {
    const cosignature = cosigner('witness.example', two).sign(checkpoint);
    const signed = (bytes: Uint8Array) => () =>
      signatureBy(verifier, { text: checkpoint, signatures: [{ ...cosignature, bytes }] });
    const signature = cosignature.bytes;
    expect(signed(signature)()).toBeDefined();
    expect(signed(signature.with(7, signature[7]! ^ 1))).toThrow('is invalid');
    expect(signed(signature.with(0, 0xff))).toThrow('is invalid');
    expect(signed(signature.subarray(1))).toThrow('is invalid');
    expect(signed(signature.subarray(0, 4))).toThrow('is invalid');
    expect(signed(signers.two.sign(checkpoint).bytes)).toThrow('is invalid');
  });
});

describe('tlog-proofs', () => {
  const checkpoint = signNote(formatCheckpoint({ origin: 'log.example', size: 10, root: EMPTY_ROOT }), [signers.one]);

  test('come back as they were, byte for byte', () => {
    const hashes = fc.array(fc.uint8Array().map(sha256), { maxLength: 63 });
    const extra = fc.option(
      fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
      { nil: undefined },
    );
    fc.assert(
      fc.property(extra, fc.maxSafeNat(), hashes, (bytes, index, proof) => {
        const text = formatTlogProof({ extra: bytes, index, hashes: proof, checkpoint });
        expect(parseTlogProof(text)).toEqual({ extra: bytes, index, hashes: proof, checkpoint });
        expect(formatTlogProof(parseTlogProof(text))).toBe(text);
      }),
    );
  });

  const text = formatTlogProof({ extra: Buffer.from('x'), index: 3, hashes: [EMPTY_ROOT], checkpoint });
  test.each([
    ['another version', text.replace('@v1', '@v2')],
    ['no index', text.replace('index 3\n', '')],
    ['a leading zero', text.replace('index 3', 'index 03')],
    ['extra data that is not base64', text.replace('extra ', 'extra !')],
    ['extra data after the index', text.replace(/(extra .*\n)(index 3\n)/, '$2$1')],
    ['a hash that is none', text.replace('47DE', '47DE=')],
    ['too many hashes', formatTlogProof({ index: 3, hashes: Array(64).fill(EMPTY_ROOT), checkpoint })],
    ['no checkpoint', text.slice(0, text.indexOf('\n\n'))],
    ['nothing', ''],
  ])('is refused: %s', (_, other) => expect(() => parseTlogProof(other)).toThrow(/malformed/));
});
