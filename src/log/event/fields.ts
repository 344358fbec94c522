import type { DomainEvent, OwnerErased, PlantAdded, PlantDeleted } from '../../domain/events.ts';
import { isTraceparent } from '../../domain/trace-context.ts';
import type { LoggedEvent } from './event.ts';

/** Bytes of a SHA-256 digest. */
const DIGEST = 32;
/** Bytes of a salt. */
export const SALT = 16;

/** The members of all events, with those that say how an event is stored. */
interface Members
  extends Omit<PlantAdded, 'type'>,
    Omit<PlantDeleted, 'type'>,
    Omit<OwnerErased, 'type'>,
    Omit<LoggedEvent, 'type' | 'event'> {
  readonly type: string;
}

/** The members of an event on one level, as each codec reads and writes them. Absent members are undefined. */
export type FlatEvent = { -readonly [Name in keyof Members]?: Members[Name] | undefined };

/**
 * The kind of a value: `count` a whole number below 2^53, `int64` a bigint, `time` whole milliseconds since 1970, `text`
 * well-formed Unicode, `bytes` octets.
 */
export type Kind = 'count' | 'int64' | 'text' | 'bytes' | 'time';

/** A member of an event, described once for every codec. */
export interface Field {
  /** Its name in JSON and in MongoDB's documents. */
  readonly name: keyof FlatEvent;
  /** Its column in SQLite. */
  readonly column: string;
  readonly kind: Kind;
  /**
   * The protobuf message of the field: `event` is Event, `content` is Content, `data` is PlantAdded or PlantDeleted.
   * `store`: no message; the member says how the event is stored.
   */
  readonly part: 'event' | 'content' | 'data' | 'store';
  /** Its number in that message. */
  readonly number: number;
  /** The types of events with this member. Undefined: every event has it, erased or not. */
  readonly of?: readonly DomainEvent['type'][] | undefined;
  /** An event may lack it. */
  readonly isOptional?: true | undefined;
  /** An empty value differs from an absent one, so an empty one is written. */
  readonly hasPresence?: true | undefined;
  /** Checks a value beyond its kind. */
  readonly isValid?: ((value: never) => boolean) | undefined;
}

const PLANTS = ['PlantAdded', 'PlantDeleted'] as const;
const ALL = [...PLANTS, 'OwnerErased'] as const;

const isDigest = (bytes: Uint8Array): boolean => bytes.length === DIGEST;
const isPositive = (count: number): boolean => Number.isSafeInteger(count) && count > 0;
/** The first and the last millisecond of google.protobuf.Timestamp. A JavaScript Date has these and more. */
const FIRST_TIME = Date.parse('0001-01-01T00:00:00.000Z');
const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z');
const isFilled = (text: string): boolean => text !== '';

/** Whether a number is a time that every codec can write. */
export const isTime = (time: number): boolean => Number.isInteger(time) && time >= FIRST_TIME && time <= LAST_TIME;

/** Every member of an event, in the order of the JSON export. CONTRIBUTING.md lists what else a new member touches. */
const DESCRIBED: Readonly<Record<keyof FlatEvent, Omit<Field, 'name'>>> = {
  position: { column: 'position', kind: 'count', part: 'event', number: 1, isValid: isPositive },
  eventId: { column: 'event_id', kind: 'text', part: 'event', number: 2 },
  time: { column: 'time', kind: 'time', part: 'event', number: 3, isValid: isTime },
  type: { column: 'type', kind: 'text', part: 'event', number: 4 },
  erased: { column: 'erased', kind: 'count', part: 'event', number: 6, of: ['OwnerErased'] },
  owner: { column: 'owner', kind: 'text', part: 'content', number: 2, of: PLANTS },
  actor: { column: 'actor', kind: 'text', part: 'content', number: 3, of: ALL },
  issuer: {
    column: 'issuer',
    kind: 'text',
    part: 'content',
    number: 4,
    of: ALL,
    isOptional: true,
    isValid: isFilled,
  },
  plantId: { column: 'plant_id', kind: 'int64', part: 'data', number: 1, of: PLANTS },
  name: { column: 'name', kind: 'text', part: 'data', number: 2, of: ['PlantAdded'] },
  tag: {
    column: 'tag',
    kind: 'text',
    part: 'data',
    number: 3,
    of: ['PlantAdded'],
    isOptional: true,
    hasPresence: true,
  },
  idempotencyKey: {
    column: 'idempotency_key',
    kind: 'text',
    part: 'content',
    number: 5,
    of: ALL,
    isOptional: true,
    isValid: isFilled,
  },
  traceparent: {
    column: 'traceparent',
    kind: 'text',
    part: 'content',
    number: 6,
    of: ALL,
    isOptional: true,
    isValid: isTraceparent,
  },
  salt: {
    column: 'salt',
    kind: 'bytes',
    part: 'content',
    number: 1,
    of: ALL,
    isValid: (bytes: Uint8Array) => bytes.length === SALT,
  },
  commitment: { column: 'commitment', kind: 'bytes', part: 'event', number: 5, isValid: isDigest },
  erasedBy: {
    column: 'erased_by',
    kind: 'count',
    part: 'store',
    number: 0,
    isOptional: true,
    isValid: isPositive,
  },
  hash: { column: 'hash', kind: 'bytes', part: 'event', number: 15, isValid: isDigest },
};

/**
 * The members of an event, in the order of the JSON export. All have one shape, because the codecs read them for every
 * event (measured: an eighth less time than with only the keys that are set).
 */
export const FIELDS: readonly Field[] = Object.entries(DESCRIBED).map(
  ([name, { column, kind, part, number, of, isOptional, hasPresence, isValid }]) => ({
    name: name as keyof FlatEvent,
    column,
    kind,
    part,
    number,
    of,
    isOptional,
    hasPresence,
    isValid,
  }),
);

/** Number of `data` in Content by event type, above all other numbers there. 0: no data. */
export const DATA_NUMBER: Readonly<Record<DomainEvent['type'], number>> = {
  PlantAdded: 7,
  PlantDeleted: 8,
  OwnerErased: 0,
};

/** The members of an event's content, which an erasure removes. */
export const CONTENT_FIELDS: readonly Field[] = FIELDS.filter(({ part }) => part === 'content' || part === 'data');
