import { CONTENT_FIELDS } from '../../domain/events.ts';

/** The number of `hash` in Event. Unknown fields have lower ones, so that the hash can follow the canonical bytes. */
export const HASH_NUMBER = 15;

/** Bytes of a SHA-256 digest. */
export const DIGEST_BYTES = 32;
/** Bytes of a salt. */
export const SALT_BYTES = 16;

/**
 * `count`: a whole number below 2^53, `int64`: a bigint, `time`: whole milliseconds since 1970, `text`: well-formed.
 */
export type Kind = 'count' | 'int64' | 'text' | 'bytes' | 'time';

/** A field of a message in event.proto. */
export interface Field {
  /** The member that holds its value. */
  readonly name: string;
  readonly kind: Kind;
  /** Its number, below 16. */
  readonly number: number;
  /** An empty value differs from an absent one, so an empty one is written. */
  readonly hasPresence?: true | undefined;
}

const inOrder = (fields: readonly Field[]): readonly Field[] => fields.toSorted((a, b) => a.number - b.number);

/** The fields of Event without `hash`, in ascending number. */
export const EVENT: readonly Field[] = inOrder([
  { name: 'position', kind: 'count', number: 1 },
  { name: 'eventId', kind: 'text', number: 2 },
  { name: 'time', kind: 'time', number: 3 },
  { name: 'type', kind: 'text', number: 4 },
  { name: 'commitment', kind: 'bytes', number: 5 },
  { name: 'erased', kind: 'count', number: 6 },
]);

/** The salt in Content, which every content has and no event names as a member. */
export const SALT_FIELD: Field = { name: 'salt', kind: 'bytes', number: 1 };

/** The fields of Content without `data`, in ascending number. */
export const CONTENT: readonly Field[] = inOrder([
  SALT_FIELD,
  ...CONTENT_FIELDS.filter(({ part }) => part === 'content'),
]);

/** The fields of PlantAdded and PlantDeleted, in ascending number. */
export const DATA: readonly Field[] = inOrder(CONTENT_FIELDS.filter(({ part }) => part === 'data'));

/** The first and the last millisecond of google.protobuf.Timestamp. A JavaScript Date has these and more. */
const FIRST_TIME = Date.parse('0001-01-01T00:00:00.000Z');
const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z');

/** Whether a number is a time that every codec can write. */
export const isTime = (time: number): boolean => Number.isInteger(time) && time >= FIRST_TIME && time <= LAST_TIME;

/** Whether a number is a position of an event. */
export const isPosition = (position: number): boolean => Number.isSafeInteger(position) && position > 0;
