import { hash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import Negotiator from 'negotiator';

/**
 * `Cache-Control` of plants and lists. An answer belongs to its caller, and a cache revalidates it every time, so that
 * it has all acknowledged writes. A cache that sends If-None-Match saves the body. `Vary: Authorization` is not needed:
 * a cache never answers without asking.
 */
export const CACHING = 'private, no-cache';

/** `Cache-Control` of what never changes under its URL. */
export const IMMUTABLE = 'public, max-age=31536000, immutable';

/** Names a request header that chose the answer in `Vary`, beside the `Origin` that CORS may have put there. */
export function varyBy(reply: FastifyReply, name: string): void {
  const others = reply.getHeader('vary');
  reply.header('vary', others === undefined ? name : `${others}, ${name}`);
}

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

/** Headers of an incremental response. nginx, and proxies with the same convention, then pass on every byte at once. */
export const UNBUFFERED = { 'x-accel-buffering': 'no' };

/** The media type of event streams (WHATWG HTML, section 9.2). */
export const EVENT_STREAM = 'text/event-stream';

/** Most elements of a list that are read. Those after them count as not there. */
const MAX_ELEMENTS = 32;

/** Whether an Accept-Encoding header (RFC 9110, section 12.5.3) prefers gzip to no compression. */
export function prefersGzip(acceptEncoding = ''): boolean {
  const elements = acceptEncoding.split(',', MAX_ELEMENTS).join(',');
  return new Negotiator({ headers: { 'accept-encoding': elements } }).encoding(['gzip', 'identity']) === 'gzip';
}

const JSON_OR = (type: string): string[] =>
  ['application/json', type].flatMap((available) => [available, `${available};charset=utf-8`]);

/**
 * Whether an Accept header (RFC 9110, section 12.5.1) names a media type and prefers it to JSON. A client that does
 * not name the type, names both with the same weight, or sends no header gets JSON.
 */
export function prefers(type: string, accept: string | undefined): boolean {
  if (accept === type) return true;
  // Nearly all headers end here.
  if (accept === undefined || !accept.toLowerCase().includes(type)) return false;
  // The order of the elements says nothing. So of equal ones application/json comes first.
  const elements = accept.split(',', MAX_ELEMENTS).map((element) => element.trim());
  const chosen = new Negotiator({ headers: { accept: elements.sort().join(',') } }).mediaType(JSON_OR(type));
  return chosen?.startsWith(type) === true;
}
