import { isUtf8 } from 'node:buffer';
import type { DomainEvent } from '../../domain/events.ts';
import { MAX_INT64, MIN_INT64 } from '../../domain/plant.ts';
import { JsonText } from '../../json/json-text.ts';
import { decode } from '../../log/event/decode.ts';
import { encodeContent, encodeEvent, type Unsealed } from '../../log/event/encode.ts';
import { begunErasure, type LoggedEvent } from '../../log/event/event.ts';
import { sha256 } from '../../tlog/hash.ts';
import { eventJson, JSON_MEMBERS, type JsonMember, jsonOf } from './event-json.ts';

const LINE_FEED = 0x0a;
/** Most bytes of one line: more than the longest that an export contains. */
const MAX_LINE = 64 * 1024;
/** Keeps a byte order mark, which no line begins with. */
const UTF_8 = new TextDecoder('utf-8', { ignoreBOM: true });

const REQUIRED = ['position', 'eventId', 'time', 'type', 'hash'];

type Members = Partial<
  Omit<LoggedEvent, 'event' | 'bytes' | 'content' | 'isExtended'> & {
    eventBytes: Uint8Array;
    contentBytes: Uint8Array;
  } & {
    erasesOwner: string;
    erasesKey: Uint8Array;
  }
>;

/** The first line of an export. Names may contain other line breaks than the line feed. */
export function firstLine(bytes: Uint8Array): { bytes: Uint8Array; rest: Uint8Array } | undefined {
  const end = bytes.indexOf(LINE_FEED);
  if (end >= 0) return { bytes: bytes.subarray(0, end), rest: bytes.subarray(end + 1) };
  if (bytes.length > MAX_LINE) throw new Error('a line of the export is longer than any event');
  return undefined;
}

/** Parses the bytes of a line of an export. Throws as `parseEvent` does. */
export function parseLine(bytes: Uint8Array, number: number): LoggedEvent {
  try {
    if (!isUtf8(bytes)) throw new Error('it is not UTF-8');
    return parseEvent(UTF_8.decode(bytes));
  } catch (error) {
    throw new Error(`line ${number} of the export is not an event: ${(error as Error).message}`, { cause: error });
  }
}

/** The inverse of `eventJson`. Throws for any text that it would not write, so nothing in a line is ignored. */
export function parseEvent(line: string): LoggedEvent {
  const text = new JsonText(line);
  if (typeof text.value !== 'object' || text.value === null) throw new SyntaxError('it is no JSON object');
  const given = text.value as Record<string, unknown>;
  for (const name of REQUIRED) if (given[name] === undefined) throw new SyntaxError(`${name} is missing`);
  if (given.salt === undefined && given.eventBytes === undefined) checkErased(given);
  const members: Record<string, unknown> = {};
  for (const member of JSON_MEMBERS)
    if (given[member.name] !== undefined) members[member.name] = memberValue(member, given[member.name], text);
  const event = eventOf(members);
  const written = lineOf(event, members);
  if (written !== line)
    throw new SyntaxError(`it is not as an export writes it, from character ${differing(line, written)} on`);
  return event;
}

/** Throws unless a line without content is that of an erased event. */
function checkErased({ commitment, erasedBy }: Record<string, unknown>): void {
  if (commitment === undefined) throw new SyntaxError('it has neither salt nor commitment');
  if (erasedBy === undefined)
    throw new SyntaxError('its content is missing; an export made with --public cannot be imported');
}

/** The number of the first character that differs. */
function differing(line: string, written: string): number {
  const expected = [...written];
  return [...line].findIndex((character, at) => character !== expected[at]) + 1;
}

/**
 * The line of an event. With bytes, a release that knows fewer members than this one may have written it. The bytes of
 * the content are then there too, unless it is erased.
 */
const lineOf = (event: LoggedEvent, members: Members): string =>
  members.eventBytes === undefined
    ? eventJson(event)
    : jsonOf(
        JSON_MEMBERS.filter(({ name }) => name in members || name === 'contentBytes'),
        { ...event, isExtended: true },
      );

/** The event whose bytes the members give. Any member that does not fit makes other bytes, and so another line. */
function eventOf(members: Members): LoggedEvent {
  const { hash = new Uint8Array(), salt, erasedBy, eventBytes, contentBytes, erasesOwner, erasesKey } = members;
  const event = members as unknown as DomainEvent;
  const content = contentBytes ?? (salt && encodeContent(event, salt));
  const commitment = content === undefined ? members.commitment : sha256(content);
  const bytes = eventBytes ?? encodeEvent({ ...members, commitment, event } as Unsealed);
  const erases =
    erasesOwner === undefined || erasesKey === undefined ? undefined : begunErasure(erasesOwner, erasesKey);
  return decode({ bytes, hash, content, erasedBy, erases });
}

const HEXADECIMAL = /^(?:[0-9a-f]{2})*$/;

function memberValue({ name, kind }: JsonMember, value: unknown, text: JsonText): unknown {
  const expect = (fits: boolean, what: string) => {
    if (!fits) throw new SyntaxError(`${name} is not ${what}`);
  };
  switch (kind) {
    case 'count':
      expect(Number.isSafeInteger(value) && Number(value) >= 0, 'a count');
      return value;
    case 'int64': {
      const integer = text.integer(name);
      if (integer === undefined || integer < MIN_INT64 || integer > MAX_INT64)
        throw new SyntaxError(`${name} is not an int64`);
      return integer;
    }
    case 'time': {
      const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
      expect(!Number.isNaN(time), 'a time such as 2026-01-02T03:04:05.678Z');
      return time;
    }
    case 'bytes':
      expect(typeof value === 'string' && HEXADECIMAL.test(value), 'hexadecimal');
      return Buffer.from(value as string, 'hex');
    case 'text':
      expect(typeof value === 'string', 'a text');
      return value;
  }
}
