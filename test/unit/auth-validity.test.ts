import { once } from 'node:events';
import { generateKeyPair } from 'jose';
import { afterEach, expect, test, vi } from 'vitest';
import type { KeySet } from '../../src/auth/keys/jwks.ts';
import type { Principal } from '../../src/auth/principal.ts';
import type { Refusal } from '../../src/auth/refusal.ts';
import { TokenValidity, whileValid } from '../../src/auth/validity.ts';
import { FOR_EVER, trust } from '../support/authentication.ts';
import { Issuer } from '../support/issuer.ts';
import { signingKey } from '../support/jws.ts';

afterEach(() => {
  vi.useRealTimers();
});

type Door = ReturnType<typeof trust>;

/** A token's principal, once the issuer's keys are there. */
async function enter(door: Door, token: string): Promise<Principal> {
  await expect.poll(() => door.keys.ready(), { timeout: 30_000 }).toMatchObject({ ready: true });
  return door.authenticator.authenticate(`Bearer ${token}`);
}

/** Makes the door fetch the keys again, by a token that names a key nobody has. */
const fetchAgain = (door: Door, issuer: Issuer) => door.judge(issuer.token({ header: { kid: 'unknown' } }));

const whyOf = ({ validity }: Principal): Promise<string | undefined> =>
  validity.confirm().then(
    () => undefined,
    (refusal: Refusal) => refusal.why,
  );

test('a token counts until it expires', async () => {
  await using issuer = await Issuer.start();
  using door = trust(issuer);
  const caller = await enter(door, issuer.token());
  expect(caller.validity.holds).toBe(true);
  expect(await whyOf(caller)).toBeUndefined();
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime(caller.validity.until - 1);
  expect(caller.validity.holds).toBe(true);
  vi.setSystemTime(caller.validity.until);
  expect(caller.validity.holds).toBe(false);
  expect(await whyOf(caller)).toBe('expired');
});

test('it ends with its own key, and not with another', async () => {
  await using issuer = await Issuer.start();
  using door = trust(issuer, { timing: { cooldown: 0 } });
  const caller = await enter(door, issuer.token());
  issuer.keySet = issuer.keySet.filter(({ kid }) => kid !== issuer.rsa.kid);
  await fetchAgain(door, issuer);
  expect(caller.validity.holds).toBe(false);
  expect(await whyOf(caller)).toBeUndefined();
  expect(caller.validity.holds).toBe(true);
  issuer.keySet = issuer.keySet.filter(({ kid }) => kid !== issuer.ed25519.kid);
  await fetchAgain(door, issuer);
  expect(caller.validity.holds).toBe(false);
  expect(await whyOf(caller)).toBe('unknown_key');
});

test('it stays when the issuer lists the same keys in another form', async () => {
  await using issuer = await Issuer.start();
  using door = trust(issuer, { timing: { cooldown: 0 } });
  const caller = await enter(door, issuer.token());
  issuer.keySet = issuer.keySet.map(
    (key) => ({ x5t: 'x', ...Object.fromEntries(Object.entries(key).reverse()) }) as never,
  );
  await fetchAgain(door, issuer);
  expect(caller.validity.holds).toBe(true);
});

test('it keeps of the header what selects a key', async () => {
  const { publicKey: key } = await generateKeyPair('EdDSA');
  const find = vi.fn(async () => key);
  const keys: KeySet = { revision: 1, find, ready: () => ({ ready: true, detail: '' }), close: () => {} };
  const header = { alg: 'EdDSA', kid: 'one', x5c: ['MIIB'] };
  await new TokenValidity(keys, { until: Infinity, revision: 0, header, key }).confirm();
  expect(find).toHaveBeenCalledExactlyOnceWith({ alg: 'EdDSA', kid: 'one' });
});

test('it ends when another key takes the name of its own', async () => {
  await using issuer = await Issuer.start();
  using door = trust(issuer, { timing: { cooldown: 0 } });
  const caller = await enter(door, issuer.token());
  issuer.keySet = [{ ...signingKey('ed25519').jwk, kid: issuer.ed25519.kid }];
  await fetchAgain(door, issuer);
  expect(await whyOf(caller)).toBe('unknown_key');
});

test.each<[string, typeof enter]>([
  ['', enter],
  [
    ' of a token that came before the first keys',
    async (door, token) => door.authenticator.authenticate(`Bearer ${token}`),
  ],
])('it cannot be told%s while keys may not be used any more', async (_, judged) => {
  await using issuer = await Issuer.start();
  using door = trust(issuer, { maxStale: 0, timing: { refresh: 200, pause: 10, maxPause: 10, timeout: 100 } });
  const caller = await judged(door, issuer.token());
  await issuer.stop();
  await expect.poll(() => door.keys.ready(), { timeout: 30_000 }).toMatchObject({ ready: false });
  expect(caller.validity.holds).toBe(false);
  expect(await whyOf(caller)).toBe('issuer_unavailable');
});

/** A validity that ends when it is told to. */
function ending() {
  const refusal = new Error('ended');
  const validity = {
    until: FOR_EVER,
    holds: true,
    confirm: async () => {
      if (!validity.holds) throw refusal;
    },
  };
  return { validity, refusal };
}

test('a stream that is silent ends too, though its source heeds nothing, and the source is told', async () => {
  const { validity, refusal } = ending();
  let told: AbortSignal | undefined;
  const stream = whileValid(validity, (signal) => {
    told = signal;
    return { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };
  });
  const next = stream.next();
  validity.holds = false;
  await expect(next).rejects.toBe(refusal);
  expect(told!.aborted).toBe(true);
});

test('a stream whose caller leaves ends with the reason for that, whatever its source says of it', async () => {
  const [left, reason] = [new AbortController(), new Error('left')];
  const silent = whileValid(
    ending().validity,
    () => ({
      [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }),
    }),
    left.signal,
  );
  const blaming = whileValid(
    ending().validity,
    async function* (signal) {
      await once(signal, 'abort');
      yield* [];
      throw new Error('the store cannot be reached');
    },
    left.signal,
  );
  const ends = [silent, blaming].map((stream) => expect(stream.next()).rejects.toBe(reason));
  left.abort(reason);
  await Promise.all(ends);
});

test('a source that ends because it was told to is not whole', async () => {
  const { validity, refusal } = ending();
  const stream = whileValid(validity, async function* (signal) {
    await once(signal, 'abort');
    yield* [];
  });
  const next = stream.next();
  validity.holds = false;
  await expect(next).rejects.toBe(refusal);
});

test('a source that cannot be opened leaves no timer', async () => {
  vi.useFakeTimers();
  const stream = whileValid(ending().validity, () => {
    throw new Error('a field is missing');
  });
  await expect(stream.next()).rejects.toThrow('a field is missing');
  expect(vi.getTimerCount()).toBe(0);
});
