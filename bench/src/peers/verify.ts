import { createRemoteJWKSet, jwtVerify } from 'jose';

const { JWKS_URL, JWT_ISSUER, JWT_AUDIENCE } = process.env;
const keys = createRemoteJWKSet(new URL(JWKS_URL!));

/**
 * The owner whom a bearer token names, verified as jose's documentation shows it. Rejects when the token is not good.
 */
export async function ownerOf(authorization: string | undefined): Promise<string> {
  const token = authorization?.slice('Bearer '.length) ?? '';
  const { payload } = await jwtVerify(token, keys, { issuer: JWT_ISSUER!, audience: JWT_AUDIENCE! });
  return payload.sub!;
}
