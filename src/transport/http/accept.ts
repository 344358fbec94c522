import Negotiator from 'negotiator';

/** The media type of event streams (WHATWG HTML, section 9.2). */
export const EVENT_STREAM = 'text/event-stream';

/** Most elements of the list that are read. Those after them count as not there. */
const MAX_ELEMENTS = 32;

const JSON_OR = (type: string): string[] =>
  ['application/json', type].flatMap((available) => [available, `${available};charset=utf-8`]);

/**
 * Whether an Accept header (RFC 9110, section 12.5.1) names a media type and prefers it to JSON. A client that names
 * neither, accepts anything, likes both the same, or sends no header gets JSON.
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
