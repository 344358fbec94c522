import { createPublicKey } from 'node:crypto';
import { join } from 'node:path';
import { createLocalJWKSet, SignJWT } from 'jose';
import type { KeySet } from './keys/jwks.ts';
import { ed25519KeyFile } from './keys/key-file.ts';
import { isName, MAX_NAME_CODE_POINTS } from './principal.ts';
import { MAX_TOKEN_LENGTH } from './verifier.ts';

/** Issuer and audience of the tokens of development mode. */
export const DEVELOPMENT_ISSUER = 'plantstore-development';

/** Name of the key file in the data directory. */
export const DEVELOPMENT_KEY_FILE = 'development-key.pem';

interface Content {
  readonly owner: string;
  readonly ownerClaim: string;
  /** Scopes, separated by spaces. */
  readonly scope?: string | undefined;
  /** Seconds until it expires; a whole number above 0. */
  readonly ttl: number;
}

/** Development mode's issuer, with a key that it makes if missing. `mintToken` rejects what would be refused. */
export async function openDevelopmentIssuer(dataDirectory: string) {
  const privateKey = await ed25519KeyFile(join(dataDirectory, DEVELOPMENT_KEY_FILE), 'existing tokens become invalid');
  const find = createLocalJWKSet({ keys: [createPublicKey(privateKey).export({ format: 'jwk' })] });
  const keys: KeySet = { find, revision: 0, ready: () => ({ ready: true, detail: 'development mode' }), close() {} };
  return {
    keys,
    async mintToken({ owner, ownerClaim, scope, ttl }: Content): Promise<string> {
      if (!isName(owner))
        throw new Error(
          `the owner must be 1 to ${MAX_NAME_CODE_POINTS} characters of well-formed Unicode, not blank, without control characters`,
        );
      const now = Math.floor(Date.now() / 1000);
      const token = await new SignJWT({ [ownerClaim]: owner, ...(scope !== undefined && { scope }) })
        .setProtectedHeader({ alg: 'EdDSA', typ: 'JWT' })
        .setIssuer(DEVELOPMENT_ISSUER)
        .setAudience(DEVELOPMENT_ISSUER)
        .setIssuedAt(now)
        .setExpirationTime(now + ttl)
        .sign(privateKey);
      if (token.length > MAX_TOKEN_LENGTH)
        throw new Error('the token would exceed 8 KiB; use a shorter owner or fewer scopes');
      return token;
    },
  };
}
