import { expect, test } from 'vitest';
import { fetchKeys } from '../../src/auth/keys/jwks.ts';
import { trust } from '../support/authentication.ts';
import { type Behaviour, Issuer } from '../support/issuer.ts';
import { signingKey } from '../support/jws.ts';

const PATIENT = { timeout: 30_000 };

/** How an issuer can fail, and what the operator reads of it. */
const FAILURES: readonly [Behaviour, RegExp, timeout?: number][] = [
  ['fails', /answered 500/],
  ['garbage', /not JSON/],
  ['other json', /no signing key/],
  ['null', /no signing key/],
  ['no keys', /no signing key/],
  ['no signing keys', /no signing key/],
  ['huge', /more than 1048576 bytes/],
  ['silent', /request timed out;/, 1_000],
  ['endless', /timed out/, 1_000],
  ['hangs up', /fetch failed/],
  ['redirects', /answered 302/],
];

/** Keys that verify no token of this service. */
const UNFIT: readonly [string, object][] = [
  ['for an algorithm that is not taken', { alg: 'RS512' }],
  ['for encryption', { use: 'enc' }],
  ['for another use', { use: 'jwt-svid' }],
  ['that may only sign', { key_ops: ['sign'] }],
  ['with operations that are none', { key_ops: 7 }],
  ['with its private part', { d: 'AA' }],
  ['that is too short', { n: 'A'.repeat(171) }],
  ['of another curve', { kty: 'EC', crv: 'P-384' }],
];

test.each(UNFIT)('an issuer whose only key is one %s has none: readiness and doctor say so', async (_, published) => {
  await using issuer = await Issuer.start();
  issuer.keySet = [{ ...issuer.rsa.jwk, ...published }];
  using door = trust(issuer);
  await expect
    .poll(() => door.keys.ready().detail, PATIENT)
    .toContain('no signing key for RS256, PS256, ES256 or EdDSA');
  expect(door.keys.ready().ready).toBe(false);
  await expect(fetchKeys(issuer.jwksUrl, 5_000)).rejects.toThrow('no signing key');
});

test('a key that the issuer gives twice is one, and what is no key beside it is left out', async () => {
  await using issuer = await Issuer.start();
  const { ed25519 } = issuer;
  issuer.keySet = [null, ed25519.jwk, 7, Object.fromEntries(Object.entries(ed25519.jwk).toReversed())] as never;
  using door = trust(issuer);
  expect(await door.judge(issuer.token({ key: ed25519 }))).toBeUndefined();
});

/** Has a token verified and remembered. Keys are there first: what is verified while they come is not remembered. */
async function remember(door: ReturnType<typeof trust>, token: string): Promise<void> {
  await expect.poll(() => door.keys.ready(), PATIENT).toMatchObject({ ready: true });
  await door.judge(token);
  expect(door.authenticator.authenticate(`Bearer ${token}`)).toMatchObject({ owner: 'alice' });
}

const strangers = (issuer: Issuer, count: number) => {
  const key = signingKey('ed25519');
  return Array.from({ length: count }, (_, n) => issuer.token({ key, header: { kid: `unknown-${n}` } }));
};

test('two hundred callers at the start wait for one fetch', async () => {
  await using issuer = await Issuer.start();
  using door = trust(issuer);
  const tokens = Array.from({ length: 200 }, (_, n) => issuer.token({ claims: { sub: `owner ${n}` } }));
  expect(new Set(await Promise.all(tokens.map(door.judge)))).toEqual(new Set([undefined]));
  expect(issuer.fetches).toBe(1);
});

test('two hundred unknown kids cause no fetch soon after a good one', async () => {
  await using issuer = await Issuer.start();
  using door = trust(issuer);
  const refusals = await Promise.all(strangers(issuer, 200).map(door.judge));
  expect(new Set(refusals.map((refusal) => refusal?.reason))).toEqual(new Set(['TOKEN_INVALID']));
  expect(new Set(door.decisions)).toEqual(new Set(['unknown_key']));
  expect(issuer.fetches).toBe(1);
});

test('two hundred unknown kids at once share a fetch, again and again', async () => {
  await using issuer = await Issuer.start();
  using door = trust(issuer, { timing: { cooldown: 0 } });
  await door.judge(issuer.token());
  for (const round of [1, 2, 3, 4, 5, 6]) {
    const refusals = await Promise.all(strangers(issuer, 200).map(door.judge));
    expect(new Set(refusals.map((refusal) => refusal?.reason))).toEqual(new Set(['TOKEN_INVALID']));
    expect(issuer.fetches).toBe(1 + round);
  }
});

test('two hundred tokens cause one fetch while the issuer is down, and none is called wrong', async () => {
  await using issuer = await Issuer.start();
  issuer.behaviour = 'fails';
  using door = trust(issuer);
  const refusals = await Promise.all([...strangers(issuer, 200), issuer.token()].map(door.judge));
  expect(new Set(refusals.map((refusal) => refusal?.reason))).toEqual(new Set(['ISSUER_UNAVAILABLE']));
  expect(refusals[0]?.status).toBe(503);
  expect(refusals[0]?.details.retryAfter).toBeGreaterThan(0);
  expect(refusals[0]?.details.challenge).toBeUndefined();
  expect(issuer.fetches).toBe(1);
});

test('no more than 1,000 callers wait for an issuer that says nothing, and others are told to come again', async () => {
  await using issuer = await Issuer.start();
  issuer.behaviour = 'silent';
  using door = trust(issuer);
  const judged = strangers(issuer, 1_010).map(door.judge);
  const refused = await Promise.all(judged.slice(1_000));
  expect(new Set(refused.map((refusal) => refusal?.reason))).toEqual(new Set(['ISSUER_UNAVAILABLE']));
  expect(refused[0]!.details.retryAfter).toBeGreaterThan(0);
  expect(door.decisions).toHaveLength(10);
  door.keys.close();
  for (const refusal of await Promise.all(judged)) expect(refusal?.reason).toBe('ISSUER_UNAVAILABLE');
  expect(issuer.fetches).toBeLessThan(2);
});

test('callers with unknown kids who wait for a silent issuer hold up nobody whose key is known', async () => {
  await using issuer = await Issuer.start();
  using door = trust(issuer, { timing: { cooldown: 0 } });
  expect(await door.judge(issuer.token())).toBeUndefined();
  issuer.behaviour = 'silent';
  const waiting = strangers(issuer, 1_010).map(door.judge);
  const owners = Array.from({ length: 200 }, (_, n) => issuer.token({ claims: { sub: `owner ${n}` } }));
  expect(new Set(await Promise.all(owners.map(door.judge)))).toEqual(new Set([undefined]));
  expect(door.decisions.filter((refused) => refused !== undefined)).toHaveLength(10);
  door.keys.close();
  for (const refusal of await Promise.all(waiting)) expect(refusal?.reason).toBe('ISSUER_UNAVAILABLE');
});

test('with the issuer down it starts, says why it is not ready, and recovers by itself', async () => {
  await using issuer = await Issuer.start();
  await issuer.stop();
  using door = trust(issuer, { timing: { pause: 20, maxPause: 40 } });
  expect(await door.judge(issuer.token())).toMatchObject({ reason: 'ISSUER_UNAVAILABLE', status: 503 });
  const problem = /ECONNREFUSED.*next attempt in \d+ s/;
  expect(door.keys.ready()).toEqual({ ready: false, detail: expect.stringMatching(problem) });
  await issuer.resume();
  await expect.poll(() => door.keys.ready(), PATIENT).toMatchObject({ ready: true });
  expect(await door.judge(issuer.token())).toBeUndefined();
});

test.each(FAILURES)(
  'an issuer at fault from the start (%s) costs a 503 until it is good',
  async (fault, problem, timeout = 30_000) => {
    await using issuer = await Issuer.start();
    issuer.behaviour = fault;
    using door = trust(issuer, { timing: { pause: 50, maxPause: 50, timeout } });
    expect(await door.judge(issuer.token())).toMatchObject({ reason: 'ISSUER_UNAVAILABLE' });
    await expect.poll(() => door.fetches.length, PATIENT).toBeGreaterThan(1);
    expect(door.keys.ready()).toEqual({ ready: false, detail: expect.stringMatching(problem) });
    issuer.behaviour = 'good';
    await expect.poll(() => door.judge(issuer.token()), PATIENT).toBeUndefined();
    expect(issuer.strays).toBe(0);
  },
);

test.each(FAILURES)(
  'an issuer at fault later (%s) shuts out nobody whose key is known',
  async (fault, problem, timeout = 30_000) => {
    await using issuer = await Issuer.start();
    using door = trust(issuer, { timing: { refresh: 20, timeout } });
    await door.judge(issuer.token());
    issuer.behaviour = fault;
    await expect.poll(() => door.fetches.at(-1), PATIENT).toBeDefined();
    const asked = issuer.fetches;
    expect(await door.judge(issuer.token({ claims: { sub: 'never seen before' } }))).toBeUndefined();
    expect(door.keys.ready()).toEqual({ ready: true, detail: expect.stringMatching(problem) });
    const [stranger] = strangers(issuer, 1);
    expect(await door.judge(stranger!)).toMatchObject({ reason: 'ISSUER_UNAVAILABLE' });
    expect(issuer.fetches).toBe(asked);
  },
);

test('keys are used no longer than they may be stale, not even for a token that was verified before', async () => {
  await using issuer = await Issuer.start();
  using door = trust(issuer, { maxStale: 0, timing: { refresh: 50, timeout: 2_000, pause: 20, maxPause: 20 } });
  const token = issuer.token();
  await remember(door, token);
  await issuer.stop();
  await expect.poll(async () => (await door.judge(token))?.reason, PATIENT).toBe('ISSUER_UNAVAILABLE');
  expect(door.keys.ready()).toMatchObject({ ready: false });
  await issuer.resume();
  await expect.poll(() => door.judge(token), PATIENT).toBeUndefined();
});

test('a new key is found when the first token names it', async () => {
  await using issuer = await Issuer.start();
  using door = trust(issuer, { timing: { cooldown: 0 } });
  await door.judge(issuer.token());
  const key = issuer.rotate({ keep: true });
  expect(await door.judge(issuer.token({ key }))).toBeUndefined();
  expect(issuer.fetches).toBe(2);
});

test('a new key is found in the background, and what was verified before still counts', async () => {
  await using issuer = await Issuer.start();
  using door = trust(issuer, { timing: { refresh: 20 } });
  const old = issuer.token();
  await remember(door, old);
  const key = issuer.rotate({ keep: true });
  await expect.poll(() => door.judge(issuer.token({ key })), PATIENT).toBeUndefined();
  const judged = door.decisions.length;
  expect(door.authenticator.authenticate(`Bearer ${old}`)).toMatchObject({ owner: 'alice' });
  expect(door.decisions).toHaveLength(judged);
});

test('a key that the issuer withdraws opens nothing any more, not even with a token verified before', async () => {
  await using issuer = await Issuer.start();
  using door = trust(issuer, { timing: { refresh: 20 } });
  const token = issuer.token();
  await remember(door, token);
  issuer.rotate();
  await expect.poll(async () => (await door.judge(token))?.reason, PATIENT).toBe('TOKEN_INVALID');
  expect(door.decisions.at(-1)).toBe('unknown_key');
});

test('a token without a kid is checked with the only key that fits', async () => {
  await using issuer = await Issuer.start();
  using door = trust(issuer);
  expect(await door.judge(issuer.token({ header: { kid: undefined } }))).toBeUndefined();
});

test('closed, it ends the fetch under way and makes no other', async () => {
  await using issuer = await Issuer.start();
  issuer.behaviour = 'silent';
  using door = trust(issuer, { timing: { pause: 0, maxPause: 0 } });
  const waiting = door.judge(issuer.token());
  await expect.poll(() => issuer.fetches, PATIENT).toBe(1);
  door.keys.close();
  expect(await waiting).toMatchObject({ reason: 'ISSUER_UNAVAILABLE' });
  expect(door.fetches).toEqual([]);
});
