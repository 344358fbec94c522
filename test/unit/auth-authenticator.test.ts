import { afterAll, beforeAll, expect, test } from 'vitest';
import { TokenValidity } from '../../src/auth/validity.ts';
import { trust } from '../support/authentication.ts';
import { Issuer } from '../support/issuer.ts';

let issuer: Issuer;
let door: ReturnType<typeof trust>;
let tenants: ReturnType<typeof trust>;

beforeAll(async () => {
  issuer = await Issuer.start();
  door = trust(issuer);
  tenants = trust(issuer, { ownerClaim: 'https://tenants.test/id' });
});

afterAll(async () => {
  door.keys.close();
  tenants.keys.close();
  await issuer.stop();
});

const seconds = () => Math.floor(Date.now() / 1000);
const bearer = (claims: Record<string, unknown>, header = {}) => `Bearer ${issuer.token({ claims, header })}`;

test('the caller is the owner that the token names', async () => {
  expect(await door.authenticator.authenticate(bearer({ sub: 'alice' }))).toEqual({
    issuer: issuer.issuer,
    owner: 'alice',
    actor: 'alice',
    scopes: new Set(),
    validity: expect.any(TokenValidity),
  });
});

test('another claim can name the owner, and sub then says who acts', async () => {
  const claims = { 'https://tenants.test/id': 'garden', sub: 'alice' };
  expect(await tenants.authenticator.authenticate(bearer(claims))).toMatchObject({ owner: 'garden', actor: 'alice' });
});

test.each([undefined, '', 7, null])('where sub is %j, the owner acts', async (sub) => {
  const claims = { 'https://tenants.test/id': 'garden', sub };
  expect(await tenants.authenticator.authenticate(bearer(claims))).toMatchObject({ owner: 'garden', actor: 'garden' });
});

test.each(['\udfff', 'x'.repeat(1025), ' ', 'a\u0000b', '\u0085'])(
  'a sub that cannot be stored is refused',
  async (sub) => {
    const token = issuer.token({ claims: { 'https://tenants.test/id': 'garden', sub } });
    expect(await tenants.judge(token)).toMatchObject({ reason: 'TOKEN_INVALID', why: 'subject' });
  },
);

test.each(['🌱'.repeat(1024), ' a b ', '"\\', '__proto__', 'ﷺ', 'e\u0301'])(
  'an owner can be any text that can be read: %j',
  async (owner) => {
    expect(await door.authenticator.authenticate(bearer({ sub: owner }))).toMatchObject({ owner });
  },
);

test.each([
  [{ scope: 'plants:read plants:write' }, ['plants:read', 'plants:write']],
  [{ scope: ' plants:read  ' }, ['plants:read']],
  [{ scp: ['plants:read', 'plants:audit'] }, ['plants:read', 'plants:audit']],
  [{ scp: 'plants:read plants:write' }, ['plants:read', 'plants:write']],
  [{ scope: 'plants:read', scp: ['plants:write'] }, ['plants:read', 'plants:write']],
  [{ scope: 7, scp: { 'plants:read': true } }, []],
  [{ scp: [7, null, ['plants:read'], 'plants:write'] }, ['plants:write']],
  [{}, []],
])('scopes of %j', async (claims, scopes) => {
  expect(await door.authenticator.authenticate(bearer(claims))).toMatchObject({ scopes: new Set(scopes) });
});

test.each(['JWT', 'jwt', 'at+jwt', 'AT+JWT', 'application/at+jwt', undefined])('typ %j is let in', async (typ) => {
  expect(await door.authenticator.authenticate(bearer({}, { typ }))).toMatchObject({ owner: 'alice' });
});

test('clocks may be half a minute apart', async () => {
  expect(await door.judge(issuer.token({ claims: { exp: seconds() - 15, nbf: seconds() + 15 } }))).toBeUndefined();
});

test('times may have fractions, and a token may have been issued by a clock that is ahead', async () => {
  const claims = { exp: seconds() + 60.5, nbf: seconds() - 0.5, iat: seconds() + 15 };
  expect(await door.judge(issuer.token({ claims }))).toBeUndefined();
  expect(await door.judge(issuer.token({ claims: { exp: 253_402_300_799, nbf: 0, iat: 0 } }))).toBeUndefined();
});

test('one audience of several is enough', async () => {
  expect(await door.judge(issuer.token({ claims: { aud: ['https://other.test', issuer.audience] } }))).toBeUndefined();
});

test.each(['bearer ', 'BEARER ', 'Bearer    '])('the scheme may be written "%s"', async (scheme) => {
  expect(await door.authenticator.authenticate(`${scheme}${issuer.token()}`)).toMatchObject({ owner: 'alice' });
});

test('a list of one header is a header, and an empty one is none', async () => {
  expect(await door.authenticator.authenticate([bearer({})])).toMatchObject({ owner: 'alice' });
  expect(() => door.authenticator.authenticate([])).toThrow(expect.objectContaining({ reason: 'TOKEN_MISSING' }));
});

test.each(['junk', 'a.b', 'a.b.c.d'])(
  'what is no JWT is refused at once, so that it takes no place among the tokens that are being verified: %s',
  (token) => {
    expect(() => door.authenticator.authenticate(`Bearer ${token}`)).toThrow(
      expect.objectContaining({ reason: 'TOKEN_INVALID' }),
    );
  },
);

test('a refusal says who it was if the issuer signed that, and a decision holds nothing of a token', async () => {
  const expired = issuer.token({ claims: { sub: 'late', exp: 1 } });
  const good = issuer.token({ claims: { sub: 'new' } });
  const forged = `${good.slice(0, -9)}AAAAAAAAA`;
  expect(await door.judge(expired)).toMatchObject({ subject: 'late' });
  expect(await door.judge(good)).toBeUndefined();
  expect((await door.judge(forged))?.subject).toBeUndefined();
  const decisions = door.decisions.slice(-3);
  expect(decisions).toEqual(['expired', undefined, 'signature']);
});
