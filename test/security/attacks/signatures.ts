import { randomBytes } from 'node:crypto';
import type { Why } from '../../../src/auth/refusal.ts';
import { compact, signAs } from '../../support/jws.ts';
import { type Attack, forged, token } from './attack.ts';
import type { Scene } from './scene.ts';

/** A good token whose parts are changed. */
const edited = (name: string, why: Why, edit: (head: string, body: string, signature: string) => string): Attack =>
  token(name, forged(why), ({ issuer }) => {
    const [head, body, signature] = issuer.token({ alg: 'RS256' }).split('.');
    return edit(head!, body!, signature!);
  });

/** A token with another ES256 signature. */
const es256 = (name: string, signature: (good: Uint8Array, scene: Scene) => Uint8Array): Attack =>
  token(name, forged('signature'), (scene) =>
    compact({ alg: 'ES256', kid: scene.issuer.ec.kid }, scene.issuer.claims(), (input) =>
      signature(signAs('ES256', scene.issuer.ec.privateKey)(input), scene),
    ),
  );

const P256_ORDER = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex');

/** An ES256 signature as TLS and X.509 write it. */
function der(raw: Uint8Array): Uint8Array {
  const integers = [raw.subarray(0, 32), raw.subarray(32)].map((half) => {
    const digits = half.subarray(half.findIndex((byte) => byte !== 0));
    const positive = digits[0]! < 0x80 ? digits : Uint8Array.of(0, ...digits);
    return Uint8Array.of(0x02, positive.length, ...positive);
  });
  const body = Buffer.concat(integers);
  return Uint8Array.of(0x30, body.length, ...body);
}

const change = (segment: string, changes: object): string => {
  const object = JSON.parse(Buffer.from(segment, 'base64url').toString());
  return Buffer.from(JSON.stringify({ ...object, ...changes })).toString('base64url');
};

/** Tokens that are put together from parts of good ones, or of nothing. */
export const signatureAttacks: readonly Attack[] = [
  es256('an ES256 signature in DER', der),
  es256('an ES256 signature of zeros', () => Buffer.alloc(64)),
  es256('an ES256 signature of the order of the curve', () => Buffer.concat([P256_ORDER, P256_ORDER])),
  es256('an ES256 signature cut by a byte', (good) => good.subarray(0, 63)),
  es256('an ES256 signature with a byte more', (good) => Uint8Array.of(...good, 0)),
  es256('an ES256 signature with its halves swapped', (good) => Uint8Array.of(...good.slice(32), ...good.slice(0, 32))),
  edited('a truncated RS256 signature', 'signature', (head, body, sig) => `${head}.${body}.${sig.slice(0, 300)}`),
  edited('an empty signature', 'malformed', (head, body) => `${head}.${body}.`),
  edited('no signature', 'malformed', (head, body) => `${head}.${body}`),
  edited('four parts', 'malformed', (head, body, sig) => `${head}.${body}.${sig}.AAAA`),
  edited('a padded signature', 'malformed', (head, body, sig) => `${head}.${body}.${sig}==`),
  edited('base64 in place of base64url', 'malformed', (head, body) => `${head}.${body}.+/+/`),
  edited('header and payload swapped', 'malformed', (head, body, sig) => `${body}.${head}.${sig}`),
  edited(
    'another owner in a good token',
    'signature',
    (head, body, sig) => `${head}.${change(body, { sub: 'mallory' })}.${sig}`,
  ),
  edited(
    'a later expiry in a good token',
    'signature',
    (head, body, sig) => `${head}.${change(body, { exp: 9_999_999_999 })}.${sig}`,
  ),
  edited(
    'one header parameter more in a good token',
    'signature',
    (head, body, sig) => `${change(head, { cty: 'x' })}.${body}.${sig}`,
  ),
  token('the signature of another good token', forged('signature'), ({ issuer }) => {
    const [head, body] = issuer.token({ alg: 'RS256', claims: { sub: 'mallory' } }).split('.');
    return `${head}.${body}.${issuer.token({ alg: 'RS256' }).split('.')[2]}`;
  }),
  token('dots and nothing', forged('malformed'), () => '..'),
  token('an opaque token', forged('malformed'), () => randomBytes(32).toString('hex')),
  token('a header that is not JSON', forged('malformed'), ({ issuer }) =>
    compact('alg=RS256', issuer.claims(), () => randomBytes(256)),
  ),
];
