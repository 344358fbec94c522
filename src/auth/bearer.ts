import { Refusal } from './refusal.ts';

/** The longest token that is looked at. All of its characters are ASCII, so this is bytes too. */
export const MAX_TOKEN_LENGTH = 8 * 1024;

const SCHEME = /^bearer(?: +|$)/i;
const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/**
 * The token of an Authorization header, or of all of them where a transport can tell several apart (RFC 6750, section 2.1).
 * Its characters are not checked yet: one that was verified before need not be checked again. Throws Refusal.
 */
export function bearerToken(authorization: string | readonly string[] | undefined): string {
  const header = typeof authorization === 'string' ? authorization : onlyOne(authorization);
  const scheme = SCHEME.exec(header);
  if (scheme === null || scheme[0].length === header.length) throw new Refusal('no_token');
  const token = header.slice(scheme[0].length);
  if (token.length > MAX_TOKEN_LENGTH) throw new Refusal('token_too_long');
  return token;
}

/** Throws Refusal unless the token is a b64token: two tokens joined by a comma, for one, are not. */
export function checkCharacters(token: string): void {
  if (!B64TOKEN.test(token)) throw new Refusal('malformed_header');
}

function onlyOne(headers: readonly string[] = []): string {
  // Which of two a proxy in front looked at is anybody's guess.
  if (headers.length > 1) throw new Refusal('malformed_header');
  return headers[0] ?? '';
}
