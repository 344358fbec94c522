import { refusalFor } from './refusal.ts';

/** Most characters of a token. All are ASCII, so this is also its size in bytes. */
export const MAX_TOKEN_LENGTH = 8 * 1024;

const SCHEME = /^bearer(?: +|$)/i;
const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/**
 * The token of the Authorization header (RFC 6750, section 2.1). Does not check its characters, because a cached token
 * needs no check; see checkCharacters. Throws Refusal, also for several headers, joined by commas or not.
 */
export function bearerToken(authorization: string | readonly string[] | undefined): string {
  const header = typeof authorization === 'string' ? authorization : (authorization?.join(', ') ?? '');
  // Several headers are joined like this. A proxy may have checked any of them.
  if (header.includes(', ')) throw refusalFor('malformed_header');
  const scheme = SCHEME.exec(header);
  if (scheme === null || scheme[0].length === header.length) throw refusalFor('no_token');
  const token = header.slice(scheme[0].length);
  if (token.length > MAX_TOKEN_LENGTH) throw refusalFor('token_too_long');
  return token;
}

/** Throws Refusal unless the token is a b64token (RFC 6750). Two tokens joined by a comma are not. */
export function checkCharacters(token: string): void {
  if (!B64TOKEN.test(token)) throw refusalFor('malformed_header');
}
