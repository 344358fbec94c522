/** The media type of event streams (WHATWG HTML, section 9.2). */
export const EVENT_STREAM = 'text/event-stream';

/** Most elements of a header's list that are read. Those after them count as not there. */
const MAX_ELEMENTS = 32;

/** The elements of a header whose value is a list (RFC 9110, section 5.6.1), in small letters, up to a bound. */
export const elementsOf = (header: string): string[] =>
  header.split(',', MAX_ELEMENTS).map((element) => element.toLowerCase());

/**
 * Whether an Accept header (RFC 9110, section 12.5.1) asks for an event stream: it names that type, and prefers nothing
 * that matches JSON. A client that names neither, accepts anything, or sends no header gets JSON.
 */
export function prefersEvents(accept: string | undefined): boolean {
  if (accept === EVENT_STREAM) return true;
  // Nearly all headers end here.
  if (accept === undefined || !/text\/event-stream/i.test(accept)) return false;
  const weights = new Map(elementsOf(accept).map(weightOf));
  const events = weights.get(EVENT_STREAM) ?? 0;
  const json = weights.get('application/json');
  if (json !== undefined) return events > json;
  // A wildcard is less specific than the type itself.
  return events > 0 && events >= (weights.get('application/*') ?? weights.get('*/*') ?? 0);
}

/** Whether an Accept header asks for a page: it names HTML, as browsers do, and gives JSON a lower weight. */
export function prefersPage(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const weights = new Map(elementsOf(accept).map(weightOf));
  return (weights.get('text/html') ?? 0) > (weights.get('application/json') ?? 0);
}

/** The range of an element and its weight. A weight that is not a number is 0. */
function weightOf(element: string): [range: string, weight: number] {
  const [range, ...parameters] = element.split(';', MAX_ELEMENTS).map((part) => part.trim());
  const weight = parameters.find((parameter) => parameter.startsWith('q='));
  return [range!, weight === undefined ? 1 : Number(weight.slice(2)) || 0];
}
