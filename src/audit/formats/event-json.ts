import { plantFields } from '../../domain/plant.ts';
import type { Head, LoggedEvent } from '../../log/event/event.ts';
import { FIELDS, type Kind } from '../../log/event/fields.ts';
import { flattened } from '../../log/event/flat-event.ts';
import type { OwnedRow } from '../../log/store.ts';

declare global {
  interface JSON {
    /**
     * A value that JSON.stringify writes as this text, which must be a JSON literal (ECMAScript proposal, in Node 24).
     */
    rawJSON(text: string): object;
  }
}

/**
 * An event as JSON: one object without line breaks, members in the order of FIELDS, int64 as an exact number, time in
 * ISO 8601 (UTC, milliseconds), bytes in hexadecimal. An event with content has no `commitment`, because it follows
 * from the content. An erased event has `commitment` and `erasedBy`.
 */
export function eventJson(event: LoggedEvent): string {
  const flat = flattened(event);
  const isErased = event.event === undefined;
  // Written member by member, because it dominates the time of an export: JSON.stringify with JSON.rawJSON takes half
  // as long again.
  let members = '';
  for (const { name, kind } of FIELDS) {
    const value = flat[name];
    if (value === undefined || (name === 'commitment' && !isErased)) continue;
    members += `,"${name}":${memberOf(kind, value)}`;
  }
  return `{${members.slice(1)}}`;
}

/** The event in the same form without its content. Safe to publish. */
export function publicEventJson(event: LoggedEvent): string {
  const flat = flattened(event);
  let members = '';
  for (const { name, kind, part } of FIELDS)
    if (part === 'event' && flat[name] !== undefined) members += `,"${name}":${memberOf(kind, flat[name])}`;
  return `{${members.slice(1)}}`;
}

function memberOf(kind: Kind, value: unknown): string {
  switch (kind) {
    case 'text':
      return text(value as string);
    case 'time':
      return `"${iso(value as number)}"`;
    case 'bytes':
      return `"${hex(value as Uint8Array)}"`;
    default:
      return String(value);
  }
}

const text = (value: string): string => JSON.stringify(value);

/** The head of the log with its members in the same form. */
export const headMembers = ({ position, hash, time }: Head) => ({ position, hash: hex(hash), time: iso(time) });

/** The head of the log in the same form. */
export const headJson = (head: Head): string => JSON.stringify(headMembers(head));

const iso = (time: number): string => new Date(time).toISOString();

const hex = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('hex');

/** A plant of the fold in the same form. */
export const plantJson = (row: OwnedRow): string =>
  JSON.stringify({ owner: row.owner, id: JSON.rawJSON(String(row.id)), ...plantFields(row) });
