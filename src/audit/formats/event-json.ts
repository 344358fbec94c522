import { CONTENT_FIELDS, type DomainEvent } from '../../domain/events.ts';
import { plantFields } from '../../domain/plant.ts';
import type { Head, LoggedEvent } from '../../log/event/event.ts';
import type { Kind } from '../../log/event/fields.ts';
import type { OwnedRow } from '../../log/store.ts';

declare global {
  interface JSON {
    /** A value that JSON.stringify writes as this text, a JSON literal (ECMAScript proposal, in Node 24). */
    rawJSON(text: string): object;
  }
}

/** A member of an event in JSON. */
export interface JsonMember {
  readonly name: string;
  readonly kind: Kind;
  /** Its value in an event. Undefined: the event has no such member. */
  readonly valueIn: (event: LoggedEvent) => unknown;
  /** The value says nothing of what happened, to whom or by whom. */
  readonly isPublic?: true;
}

/**
 * The members in their order. The commitment stands where the content does not, from which it follows. The bytes stand
 * where this release does not know all that is in them.
 */
export const JSON_MEMBERS: readonly JsonMember[] = [
  { name: 'position', kind: 'count', valueIn: ({ position }) => position, isPublic: true },
  { name: 'eventId', kind: 'text', valueIn: ({ eventId }) => eventId, isPublic: true },
  { name: 'time', kind: 'time', valueIn: ({ time }) => time, isPublic: true },
  { name: 'type', kind: 'text', valueIn: ({ type }) => type, isPublic: true },
  { name: 'erased', kind: 'count', valueIn: ({ event }) => saidIn(event, 'erased'), isPublic: true },
  ...CONTENT_FIELDS.map(({ name, kind }) => ({
    name,
    kind,
    valueIn: ({ event }: LoggedEvent) => saidIn(event, name),
  })),
  { name: 'salt', kind: 'bytes', valueIn: ({ salt }) => salt },
  { name: 'commitment', kind: 'bytes', valueIn: ({ event, commitment }) => (event ? undefined : commitment) },
  { name: 'erasedBy', kind: 'count', valueIn: ({ erasedBy }) => erasedBy },
  { name: 'erasesOwner', kind: 'text', valueIn: ({ erases }) => erases?.owner },
  { name: 'erasesKey', kind: 'bytes', valueIn: ({ erases }) => erases?.key },
  { name: 'eventBytes', kind: 'bytes', valueIn: ({ isExtended, bytes }) => (isExtended ? bytes : undefined) },
  { name: 'contentBytes', kind: 'bytes', valueIn: ({ isExtended, content }) => (isExtended ? content : undefined) },
  { name: 'hash', kind: 'bytes', valueIn: ({ hash }) => hash, isPublic: true },
];

const saidIn = (event: DomainEvent | undefined, name: string): unknown =>
  (event as Readonly<Record<string, unknown>> | undefined)?.[name];

const PUBLIC_MEMBERS = JSON_MEMBERS.flatMap((member): JsonMember[] => {
  if (member.name === 'commitment') return [{ ...member, valueIn: ({ commitment }) => commitment }];
  return member.isPublic ? [member] : [];
});

/**
 * An event as JSON: one object without line breaks, members in the order of JSON_MEMBERS, int64 as an exact number,
 * time in ISO 8601 (UTC, milliseconds), bytes in hexadecimal.
 */
export const eventJson = (event: LoggedEvent): string => jsonOf(JSON_MEMBERS, event);

/** The event in the same form without its content, and with its commitment. Safe to publish. */
export const publicEventJson = (event: LoggedEvent): string => jsonOf(PUBLIC_MEMBERS, event);

/** The members of an event as JSON. JSON.stringify with JSON.rawJSON makes an export take half as long again. */
export function jsonOf(members: readonly JsonMember[], event: LoggedEvent): string {
  let text = '';
  for (const { name, kind, valueIn } of members) {
    const value = valueIn(event);
    if (value !== undefined) text += `,"${name}":${memberOf(kind, value)}`;
  }
  return `{${text.slice(1)}}`;
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

/** The head of the log with its members in the same form. An empty log has no time. */
export const headMembers = ({ position, hash, time }: Head) => ({
  position,
  hash: hex(hash),
  ...(position > 0 && { time: iso(time) }),
});

/** The head of the log in the same form. */
export const headJson = (head: Head): string => JSON.stringify(headMembers(head));

const iso = (time: number): string => new Date(time).toISOString();

const hex = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('hex');

/** A plant of the fold in the same form. */
export const plantJson = (row: OwnedRow): string =>
  JSON.stringify({ owner: row.owner, id: JSON.rawJSON(String(row.id)), ...plantFields(row) });
