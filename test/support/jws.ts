import { constants, createHmac, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';

/** A signing key of the test's issuer or of an attacker. */
export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  /** The public key in a key set. */
  readonly jwk: Readonly<Record<string, unknown>>;
}

/** Generates a key. `published` adds or changes members of its entry in a key set. */
export function signingKey(kind: 'rsa' | 'weak-rsa' | 'ec' | 'ed25519', published: object = {}): SigningKey {
  const kid = `${kind}-${randomUUID()}`;
  const { privateKey, publicKey } = generate(kind);
  return { kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, ...published } };
}

function generate(kind: Parameters<typeof signingKey>[0]) {
  switch (kind) {
    case 'rsa':
      return generateKeyPairSync('rsa', { modulusLength: 2048 });
    case 'weak-rsa':
      return generateKeyPairSync('rsa', { modulusLength: 1024 });
    case 'ec':
      return generateKeyPairSync('ec', { namedCurve: 'P-256' });
    case 'ed25519':
      return generateKeyPairSync('ed25519');
  }
}

const base64url = (data: string | Uint8Array): string => Buffer.from(data).toString('base64url');
const segment = (part: unknown): string => base64url(typeof part === 'string' ? part : JSON.stringify(part));

/**
 * A compact JWS of any header and payload (text is used unchanged), with any signature. Deliberately checks nothing.
 */
export function compact(header: unknown, payload: unknown, signer: (input: string) => Uint8Array): string {
  const input = `${segment(header)}.${segment(payload)}`;
  return `${input}.${base64url(signer(input))}`;
}

/** Signs with the given algorithm. */
export function signAs(alg: string, key: KeyObject): (input: string) => Uint8Array {
  const bits = alg.slice(2);
  return (input) => {
    const data = Buffer.from(input);
    if (alg.startsWith('Ed')) return sign(null, data, key);
    if (alg.startsWith('ES')) return sign(`sha${bits}`, data, { key, dsaEncoding: 'ieee-p1363' });
    if (alg.startsWith('PS'))
      return sign(`sha${bits}`, data, {
        key,
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
      });
    return sign(`sha${bits}`, data, key);
  };
}

/** Signs with a shared secret (HS256). */
export const hmac =
  (secret: string | Uint8Array) =>
  (input: string): Uint8Array =>
    createHmac('sha256', secret).update(input).digest();
