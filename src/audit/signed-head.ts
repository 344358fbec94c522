import { CompactSign, compactVerify, createLocalJWKSet, errors, type JSONWebKeySet } from 'jose';
import type { Head } from '../log/event.ts';
import { headMembers } from './event-json.ts';
import type { SigningKey } from './signing-key.ts';

/** What the header `typ` of a signed head says, so that no other JWS of the key passes for one (RFC 8725, section 3.11). */
const TYPE = 'plantstore-head';

/** The URI (RFC 9278) that names the key of this thumbprint: the only issuer whom a signature proves. */
const issuerOf = (kid: string): string => `urn:ietf:params:oauth:jwk-thumbprint:sha-256:${kid}`;

/** Signs a head: a JWS (RFC 7515, compact, EdDSA) over the JSON object {position, hash, time, issuer}. */
export function signHead(head: Head, { privateKey, publicKey: { kid } }: SigningKey): Promise<string> {
  const payload = JSON.stringify({ ...headMembers(head), issuer: issuerOf(kid) });
  return new CompactSign(new TextEncoder().encode(payload))
    .setProtectedHeader({ alg: 'EdDSA', typ: TYPE, kid })
    .sign(privateKey);
}

/** The head that one of the keys has signed. Rejects, with the reason, when it is not so. */
export async function verifySignedHead(jws: string, keys: JSONWebKeySet): Promise<Head> {
  try {
    const { payload, protectedHeader } = await compactVerify(jws.trim(), createLocalJWKSet(keys), {
      algorithms: ['EdDSA'],
    });
    if (protectedHeader.typ !== TYPE) throw new Error(`its type is not ${TYPE}`);
    const { issuer, position, hash, time } = JSON.parse(new TextDecoder().decode(payload));
    if (issuer !== issuerOf(String(protectedHeader.kid))) throw new Error('its issuer is not its key');
    return { position, hash: Buffer.from(hash, 'hex'), time: Date.parse(time) };
  } catch (error) {
    throw new Error(`the signed head is not to be trusted: ${reasonOf(error)}`, { cause: error });
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof errors.JWKSNoMatchingKey) return 'none of the keys known here has signed it';
  return error instanceof Error ? error.message : String(error);
}
