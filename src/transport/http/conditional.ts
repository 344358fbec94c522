import { hash } from 'node:crypto';

/**
 * `Cache-Control` of plants and lists. Each belongs to its caller and is revalidated every time, so that it shows what
 * was acknowledged. A cache that sends If-None-Match saves the body. `Vary: Authorization` is not needed: a cache never
 * answers without asking.
 */
export const CACHING = 'private, no-cache';

/** Characters of a tag: 132 bits of SHA-256. */
const TAG_LENGTH = 22;

/** The strong entity tag (RFC 9110, section 8.8.3) of a JSON text and its Link. Equal content has an equal tag. */
export const entityTag = (text: string, link = ''): string =>
  `"${hash('sha256', `${text}\n${link}`, 'base64url').slice(0, TAG_LENGTH)}"`;

/** The tags of a well-formed If-None-Match, without the marks of weak ones. */
const TAGS = /^(?:[\t ]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*)?(?:,|$))+$/;
const TAG = /"[^"]*"/g;

/**
 * Whether the client's If-None-Match names this tag, so that 304 is the answer (RFC 9110, section 13.1.2: weak
 * comparison; `*` matches any tag). The tag is undefined for a response without one. A malformed header never matches.
 */
export function isUnmodified(ifNoneMatch: string | undefined, tag: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch === tag || ifNoneMatch === '*') return true;
  return tag !== undefined && TAGS.test(ifNoneMatch) && ifNoneMatch.match(TAG)?.includes(tag) === true;
}
