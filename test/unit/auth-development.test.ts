import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createAuthenticator } from '../../src/auth/authenticator.ts';
import { DEVELOPMENT_ISSUER, openDevelopmentIssuer } from '../../src/auth/development.ts';
import type { KeySet } from '../../src/auth/keys/jwks.ts';
import { TokenValidity } from '../../src/auth/validity.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let root: string;
let data: string;
let file: string;

beforeEach(() => {
  root = temporaryDirectory(onTestFinished);
  data = join(root, 'new', 'data');
  file = join(data, 'development-key.pem');
});

function authenticate({ keys }: { readonly keys: KeySet }, token: string, ownerClaim = 'sub') {
  const issuer = DEVELOPMENT_ISSUER;
  return createAuthenticator({ keys, issuer, audience: issuer, ownerClaim }).authenticate(`Bearer ${token}`);
}

const alice = { owner: 'alice', ownerClaim: 'sub', ttl: 60 };
const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

test('the first use makes a key that only its owner can read, and later uses find it', async () => {
  const first = await openDevelopmentIssuer(data);
  expect([mode(file), mode(data)]).toEqual(['600', '700']);
  const second = await openDevelopmentIssuer(data);
  const token = await first.mintToken({ ...alice, scope: 'plants:read plants:audit' });
  expect(await authenticate(second, token)).toEqual({
    issuer: 'plantstore-development',
    owner: 'alice',
    actor: 'alice',
    scopes: new Set(['plants:read', 'plants:audit']),
    validity: expect.any(TokenValidity),
  });
});

test('the owner goes into the claim that the service reads', async () => {
  const issuer = await openDevelopmentIssuer(data);
  const token = await issuer.mintToken({ ...alice, ownerClaim: 'tenant' });
  expect(await authenticate(issuer, token, 'tenant')).toMatchObject({ owner: 'alice', actor: 'alice' });
});

test('processes that start at once get one key, whole', async () => {
  const program = `
    import { openDevelopmentIssuer } from './src/auth/development.ts';
    const issuers = await Promise.all(Array.from({ length: 8 }, () => openDevelopmentIssuer(process.argv[1])));
    for (const issuer of issuers) console.log(await issuer.mintToken(${JSON.stringify(alice)}));`;
  const run = () => promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program, data]);
  const outputs = await Promise.all([run(), run(), run()]);
  const tokens = outputs.flatMap(({ stdout }) => stdout.trim().split('\n'));
  const issuer = await openDevelopmentIssuer(data);
  expect(tokens).toHaveLength(24);
  for (const token of tokens) expect(await authenticate(issuer, token)).toMatchObject({ owner: 'alice' });
  expect(readdirSync(data)).toEqual(['development-key.pem']);
});

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' });

test.each([
  ['nothing', ''],
  ['garbage', 'not a key'],
  ['half a key', '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2Vw'],
  ['an RSA key', rsa],
])('a key file that holds %s is one clear line', async (_, content) => {
  await openDevelopmentIssuer(data);
  writeFileSync(file, content);
  const message = new RegExp(`^${file} is damaged: .*delete it.*$`);
  await expect(openDevelopmentIssuer(data)).rejects.toThrow(message);
});

test('a token of another key, or of another algorithm, is refused', async () => {
  const issuer = await openDevelopmentIssuer(data);
  const other = await openDevelopmentIssuer(join(root, 'other'));
  const token = await other.mintToken(alice);
  await expect(authenticate(issuer, token)).rejects.toMatchObject({ reason: 'TOKEN_INVALID', why: 'signature' });
  const [, ...rest] = token.split('.');
  const header = Buffer.from('{"alg":"RS256"}').toString('base64url');
  await expect(authenticate(issuer, [header, ...rest].join('.'))).rejects.toMatchObject({ why: 'unknown_key' });
});

test.each([
  [{ owner: '' }, /owner/],
  [{ owner: '\ud800' }, /owner/],
  [{ owner: 'x'.repeat(1025) }, /owner/],
  [{ owner: ' ' }, /owner/],
  [{ owner: 'al\nice' }, /owner/],
  [{ owner: '🌱'.repeat(1024), scope: 'x'.repeat(3000) }, /8 KiB/],
])('a token that would be refused is not made: %j', async (wrong, message) => {
  const issuer = await openDevelopmentIssuer(data);
  await expect(issuer.mintToken({ ...alice, ...wrong })).rejects.toThrow(message);
});
