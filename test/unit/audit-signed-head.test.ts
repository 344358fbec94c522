import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CompactSign, compactVerify, decodeProtectedHeader } from 'jose';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { signHead, verifySignedHead } from '../../src/audit/signed-head.ts';
import {
  AUDIT_KEY_FILE,
  jwksOf,
  openSigningKey,
  publishedKeys,
  signingKeyOnDemand,
} from '../../src/audit/signing-key.ts';
import { EMPTY_HEAD, type Head } from '../../src/log/event.ts';

const HEAD: Head = {
  position: 42,
  hash: crypto.getRandomValues(new Uint8Array(32)),
  time: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
};

let data: string;

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'plantstore-audit-'));
});

afterEach(() => rmSync(data, { recursive: true }));

const newKey = () => openSigningKey(generateKeyPairSync('ed25519').privateKey, data);

test.each([HEAD, EMPTY_HEAD])('a head that was signed is verified by the public key alone', async (head) => {
  const key = await newKey();
  const jws = await signHead(head, key);
  const verified = await verifySignedHead(`${jws}\n`, jwksOf(key));
  expect({ ...verified, hash: new Uint8Array(verified.hash) }).toEqual(head);
});

test('it is a JWS over position, hash, time and issuer, and names its key by the thumbprint', async () => {
  const key = await newKey();
  const jws = await signHead(HEAD, key);
  const { kid } = key.publicKey;
  expect(decodeProtectedHeader(jws)).toEqual({ alg: 'EdDSA', typ: 'plantstore-head', kid });
  const { payload } = await compactVerify(jws, createPublicKey(key.privateKey));
  expect(JSON.parse(new TextDecoder().decode(payload))).toEqual({
    position: 42,
    hash: Buffer.from(HEAD.hash).toString('hex'),
    time: '2026-01-02T03:04:05.678Z',
    issuer: `urn:ietf:params:oauth:jwk-thumbprint:sha-256:${kid}`,
  });
});

test('what is published holds nothing of the private key', async () => {
  const [key] = jwksOf(await newKey()).keys;
  expect(key).toEqual({
    kty: 'OKP',
    crv: 'Ed25519',
    x: expect.any(String),
    kid: expect.any(String),
    alg: 'EdDSA',
    use: 'sig',
  });
});

test('another key’s, a changed and an unsigned head are not trusted', async () => {
  const key = await newKey();
  const jws = await signHead(HEAD, key);
  const [header, , signature] = jws.split('.');
  const payload = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const forged = [header, payload({ position: 1 }), signature].join('.');
  const unsigned = `${payload({ alg: 'none', typ: 'plantstore-head' })}.${jws.split('.')[1]}.`;
  await expect(verifySignedHead(jws, jwksOf(await newKey()))).rejects.toThrow('none of the keys known here');
  for (const bad of [forged, unsigned, jws.slice(0, -4), '', 'a.b', `${jws}.x`])
    await expect(verifySignedHead(bad, jwksOf(key))).rejects.toThrow('is not to be trusted');
});

test('what the key signed for another purpose, or in another’s name, is no signed head', async () => {
  const key = await newKey();
  const { kid } = key.publicKey;
  const payload = { position: 1, hash: '00', time: '2026-01-02T03:04:05.678Z' };
  const sign = (header: object, issuer: string) =>
    new CompactSign(Buffer.from(JSON.stringify({ ...payload, issuer })))
      .setProtectedHeader({ alg: 'EdDSA', kid, ...header })
      .sign(key.privateKey);
  const issuer = `urn:ietf:params:oauth:jwk-thumbprint:sha-256:${kid}`;
  await expect(verifySignedHead(await sign({ typ: 'JWT' }, issuer), jwksOf(key))).rejects.toThrow('type');
  await expect(verifySignedHead(await sign({ typ: 'plantstore-head' }, 'me'), jwksOf(key))).rejects.toThrow('issuer');
  await expect(verifySignedHead(await sign({ typ: 'plantstore-head' }, issuer), jwksOf(key))).resolves.toBeDefined();
});

test('the key is made on first use, for its owner’s eyes alone, and stays', async () => {
  const keys = await Promise.all([1, 2, 3].map(() => openSigningKey(undefined, data)));
  expect(new Set(keys.map(({ publicKey }) => publicKey.kid)).size).toBe(1);
  const file = join(data, AUDIT_KEY_FILE);
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
  expect(readFileSync(file, 'utf8')).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
  expect((await openSigningKey(undefined, data)).publicKey).toEqual(keys[0]!.publicKey);
});

test('keys that signed before stay published, whether another is given or the file is replaced', async () => {
  expect(await publishedKeys(undefined, join(data, 'none'))).toEqual({ keys: [] });
  expect(readdirSync(data)).toEqual([]);
  const made = await openSigningKey(undefined, data);
  expect((await publishedKeys(undefined, data)).keys).toEqual([made.publicKey]);
  rmSync(join(data, AUDIT_KEY_FILE));
  const given = generateKeyPairSync('ed25519').privateKey;
  const others = [
    await openSigningKey(undefined, data),
    ...(await Promise.all([1, 2].map(() => openSigningKey(given, data)))),
  ];
  const signed = await Promise.all([made, ...others].map((key) => signHead(HEAD, key)));
  const { keys } = await publishedKeys(given, data);
  expect(keys.map(({ kid }) => kid).sort()).toEqual(
    [...new Set([made, ...others].map(({ publicKey }) => publicKey.kid))].sort(),
  );
  expect(JSON.stringify(keys)).not.toContain('"d"');
  for (const jws of signed) expect((await verifySignedHead(jws, { keys })).position).toBe(HEAD.position);
});

test('a key that is given is used, and none is made', async () => {
  const given = generateKeyPairSync('ed25519').privateKey;
  expect((await openSigningKey(given, data)).privateKey).toBe(given);
  expect(() => statSync(join(data, AUDIT_KEY_FILE))).toThrow('ENOENT');
});

test('a damaged key is refused, not replaced; once it is gone the next use gets a new one', async () => {
  const file = join(data, AUDIT_KEY_FILE);
  writeFileSync(file, 'no key');
  const signingKey = signingKeyOnDemand(undefined, data);
  await expect(signingKey()).rejects.toThrow(`${file} is damaged`);
  expect(readFileSync(file, 'utf8')).toBe('no key');
  rmSync(file);
  expect(await signingKey()).toBe(await signingKey());
});
