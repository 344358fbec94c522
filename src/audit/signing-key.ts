import { createPublicKey, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { calculateJwkThumbprint, type JSONWebKeySet, type JWK } from 'jose';
import { ed25519KeyFile, ed25519KeyIfThere } from '../auth/key-file.ts';
import { keepPublic, keptKeys, type PublicKey } from './kept-keys.ts';

/** Name of the key's file in the data directory. */
export const AUDIT_KEY_FILE = 'audit-key.pem';

/** The Ed25519 key that heads are signed with. */
export interface SigningKey {
  readonly privateKey: KeyObject;
  readonly publicKey: PublicKey;
}

/** What a new key in the place of a damaged one would end. */
const LOSS = 'heads signed with the old one need its public key';

/**
 * The key that was given, or else the one in the data directory, which is made on first use. From then on its public half is kept
 * there, so that it is one of the published keys for good.
 */
export async function openSigningKey(given: KeyObject | undefined, dataDirectory: string): Promise<SigningKey> {
  const privateKey = given ?? (await ed25519KeyFile(join(dataDirectory, AUDIT_KEY_FILE), LOSS));
  const publicKey = await publicKeyOf(privateKey);
  await keepPublic(publicKey, dataDirectory);
  return { privateKey, publicKey };
}

/**
 * The JWKS (RFC 7517, section 5) that the public gets: the key that signs, unless it has yet to be made, and all that ever signed with
 * this data directory. Writes nothing.
 */
export async function publishedKeys(given: KeyObject | undefined, dataDirectory: string): Promise<JSONWebKeySet> {
  const signing = given ?? (await ed25519KeyIfThere(join(dataDirectory, AUDIT_KEY_FILE), LOSS));
  const kept = await keptKeys(dataDirectory);
  if (signing === undefined) return { keys: kept };
  const current = await publicKeyOf(signing);
  return { keys: [current, ...kept.filter(({ kid }) => kid !== current.kid)] };
}

async function publicKeyOf(privateKey: KeyObject): Promise<PublicKey> {
  const jwk = createPublicKey(privateKey).export({ format: 'jwk' }) as JWK;
  return { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: 'EdDSA', use: 'sig' };
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

/** The JWKS (RFC 7517, section 5) of this key alone. */
export const jwksOf = ({ publicKey }: SigningKey): JSONWebKeySet => ({ keys: [publicKey] });
