import type { Why } from '../../../src/auth/refusal.ts';
import { compact, signAs } from '../../support/jws.ts';
import { type Attack, forged, refused, token } from './attack.ts';
import type { Scene } from './scene.ts';

const AMBIGUOUS = refused(
  'ambiguous_key',
  'several keys of the issuer fit the token; its header kid must name one key alone',
);

/** The attacker signs with a key of its own, and says something about it in the header. */
const ownKey = (name: string, why: Why, header: (scene: Scene) => object): Attack =>
  token(name, forged(why), (scene) => scene.issuer.token({ key: scene.own, header: header(scene) }));

/** A key that the issuer publishes, for another use. */
const unfit = (name: string, why: Why, alg: string, key: keyof Scene['unfit']): Attack =>
  token(name, forged(why), (scene) => scene.issuer.token({ alg, key: scene.unfit[key] }));

const KIDS = [
  '../../../../dev/null',
  '/dev/null',
  'https://attacker.test/key?x=#',
  "x' UNION SELECT 'key' --",
  'key|sleep 9',
  '__proto__',
  '',
  7,
  null,
  {},
  ['x'],
];

/** Tokens that say which key they want to be checked with. */
export const keyAttacks: readonly Attack[] = [
  ownKey('an unknown kid', 'unknown_key', () => ({})),
  ...KIDS.map((kid) => ownKey(`kid ${JSON.stringify(kid)}`, 'unknown_key', () => ({ kid }))),
  ownKey('the kid of a right key', 'signature', ({ issuer }) => ({ kid: issuer.ed25519.kid })),
  ownKey('jku, the address of a key set', 'unknown_key', ({ server }) => ({ jku: server.jwksUrl.href })),
  ownKey('jku and the kid of a right key', 'signature', ({ issuer, server }) => ({
    jku: server.jwksUrl.href,
    kid: issuer.ed25519.kid,
  })),
  ownKey('jwk, a key in the header', 'unknown_key', ({ own }) => ({ jwk: own.jwk })),
  ownKey('jwk and the kid of a right key', 'signature', ({ issuer, own }) => ({
    jwk: own.jwk,
    kid: issuer.ed25519.kid,
  })),
  ownKey('x5u, the address of a certificate', 'unknown_key', ({ server }) => ({ x5u: server.jwksUrl.href })),
  ownKey('x5c, a certificate in the header', 'unknown_key', () => ({ x5c: ['MIIB'] })),
  token('iss, the address of another issuer', forged('unknown_key'), ({ issuer, own, server }) =>
    issuer.token({ key: own, claims: { iss: server.jwksUrl.origin } }),
  ),
  token('no kid where several keys of the issuer fit', AMBIGUOUS, ({ issuer }) =>
    compact({ alg: 'RS256' }, issuer.claims(), signAs('RS256', issuer.rsa.privateKey)),
  ),
  unfit('a published RSA key of 1,024 bits', 'unusable_key', 'RS256', 'weak'),
  unfit('a published key that is damaged', 'unusable_key', 'RS256', 'damaged'),
  unfit('a published key for encryption', 'unknown_key', 'EdDSA', 'encryption'),
  unfit('a published key that may not verify', 'unknown_key', 'EdDSA', 'signOnly'),
  unfit('a published key for another algorithm', 'unknown_key', 'RS256', 'pss'),
];
