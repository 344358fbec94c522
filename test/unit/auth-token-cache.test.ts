import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test, vi } from 'vitest';
import { trust } from '../support/authentication.ts';
import { Issuer } from '../support/issuer.ts';
import { signingKey } from '../support/jws.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** A door whose keys are there, so that what it verifies is remembered. */
async function open(issuer: Issuer, options: Parameters<typeof trust>[1] = {}) {
  const door = trust(issuer, options);
  await expect.poll(() => door.keys.ready(), { timeout: 30_000 }).toMatchObject({ ready: true });
  return door;
}

test('a token that was verified is not verified again: the same caller, at once', async () => {
  await using issuer = await Issuer.start();
  using door = await open(issuer);
  const authorization = `Bearer ${issuer.token()}`;
  const caller = await door.authenticator.authenticate(authorization);
  expect(door.authenticator.authenticate(authorization)).toBe(caller);
  expect(door.authenticator.authenticate(`bearer   ${authorization.slice(7)}`)).toBe(caller);
  expect(door.authenticator.cacheHits).toBe(2);
  expect(door.decisions).toHaveLength(1);
});

test('on its connection the same header is the same caller, another one is not, and nothing of either is left once all are forgotten', async () => {
  await using issuer = await Issuer.start();
  using door = await open(issuer);
  const { authenticator } = door;
  const connection = {};
  const [alice, bob] = ['alice', 'bob'].map((sub) => `Bearer ${issuer.token({ claims: { sub } })}`) as [string, string];
  for (const header of [alice, alice, bob, alice, bob, bob])
    expect(await authenticator.authenticate(header, connection)).toMatchObject({
      owner: header === alice ? 'alice' : 'bob',
    });
  expect(() => authenticator.authenticate(undefined, connection)).toThrow(
    expect.objectContaining({ reason: 'TOKEN_MISSING' }),
  );
  expect(() => authenticator.authenticate([bob, alice], connection)).toThrow(
    expect.objectContaining({ reason: 'AUTHORIZATION_MALFORMED' }),
  );
  expect(door.decisions).toEqual([undefined, undefined, 'no_token', 'malformed_header']);
  authenticator.forget();
  expect(authenticator.authenticate(bob, connection)).toBeInstanceOf(Promise);
});

test('a token whose key is gone is refused on its connection, too', async () => {
  await using issuer = await Issuer.start();
  using door = await open(issuer, { timing: { refresh: 20 } });
  const connection = {};
  const header = `Bearer ${issuer.token()}`;
  for (const _ of [1, 2, 3]) await door.authenticator.authenticate(header, connection);
  issuer.keySet = [signingKey('ed25519', { kid: 'next' }).jwk];
  const judged = async () => door.authenticator.authenticate(header, connection);
  await expect
    .poll(() => judged().catch((refusal) => refusal), { timeout: 30_000 })
    .toMatchObject({ reason: 'TOKEN_INVALID' });
});

test('a forged token is refused at once when it comes again, with the same decision', async () => {
  await using issuer = await Issuer.start();
  using door = await open(issuer);
  const token = `${issuer.token().split('.', 2).join('.')}.${issuer.token({ claims: { sub: 'eve' } }).split('.')[2]}`;
  expect(await door.judge(token)).toMatchObject({ why: 'signature' });
  expect(() => door.authenticator.authenticate(`Bearer ${token}`)).toThrow(
    expect.objectContaining({ reason: 'TOKEN_INVALID', why: 'signature' }),
  );
  expect(door.decisions).toEqual(['signature', 'signature']);
  door.authenticator.forget();
  expect(await door.judge(token)).toMatchObject({ why: 'signature' });
});

test('a token that was forged under one key of a name is good once the issuer replaces that key by its own', async () => {
  await using issuer = await Issuer.start();
  using door = await open(issuer, { timing: { refresh: 20 } });
  const { kid } = issuer.ed25519;
  const next = signingKey('ed25519', { kid });
  const token = issuer.token({ key: { ...next, kid } });
  for (const _ of [1, 2]) expect(await door.judge(token)).toMatchObject({ why: 'signature' });
  issuer.keySet = [next.jwk];
  await expect.poll(() => door.judge(token), { timeout: 30_000 }).toBeUndefined();
});

test('any other refusal is not remembered', async () => {
  await using issuer = await Issuer.start();
  using door = await open(issuer);
  const token = issuer.token({ claims: { exp: 1 } });
  for (const _ of [1, 2]) expect(await door.judge(token)).toMatchObject({ why: 'expired' });
  expect(door.decisions).toHaveLength(2);
  expect(door.authenticator.cacheHits).toBe(0);
});

test.each([0, 0.25])('a token ends when its time is over, to the millisecond, remembered or not (%d)', async (part) => {
  await using issuer = await Issuer.start();
  using door = await open(issuer);
  const exp = Math.floor(Date.now() / 1000) + 100 + part;
  const token = issuer.token({ claims: { exp } });
  expect(await door.judge(token)).toBeUndefined();
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime(Math.ceil(exp + 30) * 1000 - 1);
  expect(door.authenticator.authenticate(`Bearer ${token}`)).toMatchObject({ owner: 'alice' });
  using fresh = trust(issuer);
  expect(await fresh.judge(token)).toBeUndefined();
  vi.setSystemTime(Math.ceil(exp + 30) * 1000);
  expect(await door.judge(token)).toMatchObject({ why: 'expired' });
  expect(await fresh.judge(token)).toMatchObject({ why: 'expired' });
});

test('no more tokens are remembered than there is room for, and those used last', async () => {
  await using issuer = await Issuer.start();
  using door = await open(issuer, { cacheSize: 3 });
  const tokens = ['a', 'b', 'c', 'd'].map((sub) => issuer.token({ claims: { sub } }));
  const [a, b, c, d] = tokens.map((token) => () => door.authenticator.authenticate(`Bearer ${token}`));
  for (const authenticate of [a!, b!, c!, a!, d!]) await authenticate();
  expect([a!(), c!(), d!()]).toMatchObject([{ owner: 'a' }, { owner: 'c' }, { owner: 'd' }]);
  expect(b!()).toBeInstanceOf(Promise);
});

test('two tokens of one owner with other scopes stay apart, and only scopes of the service are remembered', async () => {
  await using issuer = await Issuer.start();
  using door = await open(issuer);
  const [reader, writer] = ['plants:read', 'plants:write'].map(
    (scope) => `Bearer ${issuer.token({ claims: { scope: `${scope} of:others` } })}`,
  );
  for (const authorization of [reader!, writer!]) await door.authenticator.authenticate(authorization);
  expect(door.authenticator.authenticate(reader!)).toMatchObject({ scopes: new Set(['plants:read']) });
  expect(door.authenticator.authenticate(writer!)).toMatchObject({ scopes: new Set(['plants:write']) });
});

test('the memory of a process that remembers a token holds no usable token', async () => {
  await using issuer = await Issuer.start();
  const program = join(import.meta.dirname, '../support/memory-of-tokens.ts');
  const settings = [issuer.jwksUrl.href, issuer.issuer, issuer.audience];
  const running = promisify(execFile)(process.execPath, ['--expose-gc', program, ...settings]);
  running.child.stdin?.end(issuer.token());
  const { stdout } = await running;
  expect(JSON.parse(stdout)).toEqual({ remembered: true, canaryFound: true, tokenFound: false });
});
