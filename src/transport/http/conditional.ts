import { hash } from 'node:crypto';

/**
 * `Cache-Control` of plants and lists: each is its caller's own, and asked for anew each time, so that it shows what was acknowledged. A
 * cache that asks with If-None-Match is spared the body. It needs no `Vary: Authorization`: what is not asked for is not shown.
 */
export const CACHING = 'private, no-cache';

/** Characters of a tag: 132 of SHA-256's bits. */
const TAG_LENGTH = 22;

/** The strong entity tag (RFC 9110, section 8.8.3) of a JSON text and its Link: whoever sends the same has the same tag. */
export const entityTag = (text: string, link = ''): string =>
  `"${hash('sha256', `${text}\n${link}`, 'base64url').slice(0, TAG_LENGTH)}"`;

/** The tags of a well-formed If-None-Match, without the marks of weak ones. */
const TAGS = /^(?:[\t ]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*)?(?:,|$))+$/;
const TAG = /"[^"]*"/g;

/**
 * Whether the client of an If-None-Match has the representation of this tag already, so that 304 answers it (RFC 9110, section
 * 13.1.2: compared weakly; `*` matches any). A representation without a tag is undefined. What is not well-formed never matches.
 */
export function isUnmodified(ifNoneMatch: string | undefined, tag: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch === tag || ifNoneMatch === '*') return true;
  return tag !== undefined && TAGS.test(ifNoneMatch) && ifNoneMatch.match(TAG)?.includes(tag) === true;
}
