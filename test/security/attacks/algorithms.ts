import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto';
import { CompactEncrypt } from 'jose';
import type { Issuer } from '../../support/issuer.ts';
import { compact, hmac, signAs } from '../../support/jws.ts';
import { type Attack, forged, token } from './attack.ts';
import { PUBLISHED_SECRET } from './scene.ts';

const publicKey = (issuer: Issuer): KeyObject => createPublicKey(issuer.rsa.privateKey);

const unsigned = (alg: unknown, expect = forged('algorithm')): Attack =>
  token(`alg ${JSON.stringify(alg)} and some signature`, expect, ({ issuer }) =>
    compact({ alg, kid: issuer.rsa.kid }, issuer.claims(), () => randomBytes(256)),
  );

const confused = (encoding: string, secret: (issuer: Issuer) => string | Uint8Array): Attack =>
  token(`HS256 with the public key as secret: ${encoding}`, forged('algorithm'), ({ issuer }) =>
    compact({ alg: 'HS256', kid: issuer.rsa.kid }, issuer.claims(), hmac(secret(issuer))),
  );

/** Tokens that choose how they want to be checked (RFC 8725, section 2.1). */
export const algorithmAttacks: readonly Attack[] = [
  ...['none', 'None', 'NONE', 'nOnE', 'none ', 'rs256', 'RS1', 'RS256\u0000'].map((alg) => unsigned(alg)),
  ...['', undefined, null, ['RS256'], { RS256: 1 }].map((alg) => unsigned(alg, forged('malformed'))),
  token('alg none and no signature', forged('malformed'), ({ issuer }) =>
    compact({ alg: 'none' }, issuer.claims(), () => Buffer.alloc(0)),
  ),
  token('alg none and the signature of a good token', forged('algorithm'), ({ issuer }) => {
    const signature = Buffer.from(issuer.token({ alg: 'RS256' }).split('.')[2]!, 'base64url');
    return compact({ alg: 'none', kid: issuer.rsa.kid }, issuer.claims(), () => signature);
  }),
  confused('PEM', (issuer) => publicKey(issuer).export({ type: 'spki', format: 'pem' })),
  confused('PEM without its last line end', (issuer) =>
    publicKey(issuer).export({ type: 'spki', format: 'pem' }).toString().trimEnd(),
  ),
  confused('PEM of PKCS #1', (issuer) => publicKey(issuer).export({ type: 'pkcs1', format: 'pem' })),
  confused('DER', (issuer) => publicKey(issuer).export({ type: 'spki', format: 'der' })),
  confused('JWK', (issuer) => JSON.stringify(issuer.rsa.jwk)),
  confused('modulus', (issuer) => Buffer.from(`${issuer.rsa.jwk.n}`, 'base64url')),
  confused('none at all', () => ''),
  token('HS256 with a secret that the issuer published', forged('algorithm'), ({ issuer }) =>
    compact({ alg: 'HS256', kid: 'shared' }, issuer.claims(), hmac(PUBLISHED_SECRET)),
  ),
  ...['RS384', 'RS512', 'PS384', 'PS512'].map((alg) =>
    token(`${alg}, which is not offered, with a right key`, forged('algorithm'), ({ issuer }) => issuer.token({ alg })),
  ),
  token('PS256 in the header, RS256 in the signature', forged('signature'), ({ issuer }) =>
    compact({ alg: 'PS256', kid: issuer.rsa.kid }, issuer.claims(), signAs('RS256', issuer.rsa.privateKey)),
  ),
  token('RS256 with the kid of an elliptic curve key', forged('unknown_key'), ({ issuer }) =>
    issuer.token({ alg: 'RS256', header: { kid: issuer.ec.kid } }),
  ),
  token('a JWE for the issuer', forged('malformed'), ({ issuer }) =>
    new CompactEncrypt(Buffer.from(JSON.stringify(issuer.claims())))
      .setProtectedHeader({ alg: 'RSA-OAEP', enc: 'A128GCM', kid: issuer.rsa.kid })
      .encrypt(publicKey(issuer)),
  ),
];
