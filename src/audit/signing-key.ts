import { createPublicKey, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { calculateJwkThumbprint, type JSONWebKeySet, type JWK } from 'jose';
import { ed25519KeyFile } from '../auth/key-file.ts';

/** Name of the key's file in the data directory. */
export const AUDIT_KEY_FILE = 'audit-key.pem';

/** The Ed25519 key that heads are signed with. */
export interface SigningKey {
  readonly privateKey: KeyObject;
  /** The public key, named by its thumbprint (RFC 7638). */
  readonly publicKey: JWK & { readonly kid: string };
}

/** The key that was given, or else the one in the data directory, which is made on first use. */
export async function openSigningKey(given: KeyObject | undefined, dataDirectory: string): Promise<SigningKey> {
  const privateKey =
    given ??
    (await ed25519KeyFile(join(dataDirectory, AUDIT_KEY_FILE), 'heads signed with the old one need its public key'));
  const jwk = createPublicKey(privateKey).export({ format: 'jwk' }) as JWK;
  const kid = await calculateJwkThumbprint(jwk);
  return { privateKey, publicKey: { ...jwk, kid, alg: 'EdDSA', use: 'sig' } };
}

/** Opens the key when it is first asked for, and keeps it; what failed is tried again. */
export function signingKeyOnDemand(given: KeyObject | undefined, dataDirectory: string): () => Promise<SigningKey> {
  let key: Promise<SigningKey> | undefined;
  return () => {
    key ??= openSigningKey(given, dataDirectory).catch((error) => {
      key = undefined;
      throw error;
    });
    return key;
  };
}

/** The JWKS (RFC 7517, section 5) that the public gets. */
export const jwksOf = ({ publicKey }: SigningKey): JSONWebKeySet => ({ keys: [publicKey] });
