import { CONTENT_FIELDS, type ContentField, DATA_NUMBER, type DomainEvent } from '../../domain/events.ts';
import { BrokenChainError } from './chain.ts';
import type { Erases, Head, LoggedEvent, StoredEvent } from './event.ts';
import {
  CONTENT,
  DIGEST_BYTES,
  EVENT,
  type Field,
  HASH_NUMBER,
  isPosition,
  isTime,
  SALT_BYTES,
  SALT_FIELD,
} from './fields.ts';
import { WireReader } from './wire-reader.ts';

type Values = Record<string, unknown>;

/** The fields of a message. */
export interface Message {
  /** By number. */
  readonly fields: readonly (Field | undefined)[];
  /** The message in the field with this number. */
  readonly nested?: { readonly number: number; readonly message: Message } | undefined;
  /** Whether a field with this number, which is in neither of these, makes the bytes those of no event. */
  readonly isRefused: (number: number) => boolean;
}

/** A message with these fields. `isRefused` and `nested`: see Message. */
export const messageOf = (
  fields: readonly Field[],
  isRefused: Message['isRefused'] = () => false,
  nested?: Message['nested'],
): Message => {
  const byNumber: (Field | undefined)[] = [];
  for (const field of fields) byNumber[field.number] = field;
  return { fields: byNumber, isRefused, nested };
};

const EVENT_MESSAGE = messageOf(EVENT, (number) => number >= HASH_NUMBER);
const TIMESTAMP = messageOf(
  [
    { name: 'seconds', kind: 'count', number: 1 },
    { name: 'nanos', kind: 'count', number: 2 },
  ],
  () => true,
);

interface EventType {
  /** One shared string for all events of the type: each decoded string would be a new one. */
  readonly type: DomainEvent['type'];
  readonly members: readonly ContentField[];
  readonly content: Message;
}

/** The numbers of Content that this release knows, of events of any type. */
const CONTENT_NUMBERS: ReadonlySet<number> = new Set([
  ...CONTENT.map(({ number }) => number),
  ...Object.values(DATA_NUMBER),
]);

function eventTypeOf(type: DomainEvent['type']): EventType {
  const members = CONTENT_FIELDS.filter(({ of }) => of.includes(type));
  const number = DATA_NUMBER[type];
  const data = messageOf(members.filter(({ part }) => part === 'data'));
  const fields = [SALT_FIELD, ...members.filter(({ part }) => part === 'content')];
  // A protobuf library knows no types of events: it would take a field of another type for a part of the event.
  const isRefused = (found: number) => CONTENT_NUMBERS.has(found);
  return { type, members, content: messageOf(fields, isRefused, number === 0 ? undefined : { number, message: data }) };
}

/**
 * A Map: a look-up in an object by a freshly decoded string keeps V8 from optimizing every function that contains it.
 */
const TYPES: ReadonlyMap<unknown, EventType> = new Map(
  (Object.keys(DATA_NUMBER) as DomainEvent['type'][]).map((type) => [type, eventTypeOf(type)]),
);

/**
 * Decodes an event. Throws RangeError, with the reason, when the bytes are not the canonical ones of an event, apart
 * from fields that this release does not know, or when what stands beside them does not fit.
 */
export function decode({ bytes, hash, content, erasedBy, erases }: Omit<StoredEvent, 'position'>): LoggedEvent {
  const { position, eventId, time, commitment, eventType, erased, isExtended } = frameOf(bytes, hash);
  const { type } = eventType;
  check(erases === undefined || type === 'OwnerErased', 'erases');
  const values: Values = {};
  let isContentExtended = false;
  if (content === undefined) checkErased(type, erasedBy);
  else {
    check(erasedBy === undefined, 'erasedBy');
    isContentExtended = readContent(content, eventType, values);
  }
  return {
    position,
    bytes,
    hash,
    content,
    erasedBy,
    eventId,
    time,
    type,
    commitment,
    event: content === undefined ? undefined : eventOf(eventType, values, erased),
    salt: values.salt as Uint8Array | undefined,
    isExtended: isExtended || isContentExtended,
    ...(erases && { erases }),
  };
}

/** A stored event as a database has it, in which somebody may have put anything. */
interface Kept extends Pick<StoredEvent, 'position' | 'erasedBy'> {
  readonly bytes: unknown;
  readonly hash: unknown;
  readonly content: unknown;
  readonly erases?: (Omit<Erases, 'owner' | 'key'> & { readonly owner: unknown; readonly key: unknown }) | undefined;
}

/** Decodes an event that a store keeps. Throws BrokenChainError for one that no release wrote. */
export function decodeStored(kept: Kept): LoggedEvent {
  const { position, bytes, hash, content, erases } = kept;
  try {
    checkType(bytes instanceof Uint8Array && hash instanceof Uint8Array);
    checkType(content === undefined || content instanceof Uint8Array);
    checkType(!erases || (typeof erases.owner === 'string' && erases.key instanceof Uint8Array));
    const event = decode(kept as StoredEvent);
    if (event.position !== position)
      throw new RangeError(`its bytes are those of the event at position ${event.position}`);
    return event;
  } catch (error) {
    throw brokenAt(position, error);
  }
}

/** The head of a log that ends with this event. Throws BrokenChainError for one that no release wrote. */
export function headOf({ position, bytes, hash }: Pick<Kept, 'position' | 'bytes' | 'hash'>): Head {
  try {
    checkType(bytes instanceof Uint8Array && hash instanceof Uint8Array);
    const { time } = frameOf(bytes, hash);
    return { position, hash, time };
  } catch (error) {
    throw brokenAt(position, error);
  }
}

function checkType(isRight: boolean): asserts isRight {
  if (!isRight) throw new RangeError('a member has the wrong type');
}

const brokenAt = (position: number, error: unknown): unknown =>
  error instanceof RangeError ? new BrokenChainError(position, error.message) : error;

type Frame = Pick<LoggedEvent, 'position' | 'eventId' | 'time' | 'commitment' | 'isExtended'> & {
  readonly eventType: EventType;
  readonly erased: number | undefined;
};

function frameOf(bytes: Uint8Array, hash: Uint8Array): Frame {
  const values: Values = {};
  const isExtended = readMessage(new WireReader(bytes), EVENT_MESSAGE, values);
  const { position = 0, eventId = '', time, commitment, erased } = values as Partial<Frame>;
  check(isPosition(position), 'position');
  check(commitment?.length === DIGEST_BYTES, 'commitment');
  check(hash.length === DIGEST_BYTES, 'hash');
  if (time === undefined || !isTime(time)) throw malformed('time');
  const eventType = TYPES.get(values.type);
  if (eventType === undefined) throw new RangeError(`there is no event of type ${values.type}`);
  check(erased === undefined || (eventType.type === 'OwnerErased' && erased > 0), 'erased');
  return { position, eventId, time, commitment: commitment!, isExtended, eventType, erased };
}

function checkErased(type: DomainEvent['type'], erasedBy: number | undefined): void {
  if (erasedBy === undefined) throw new RangeError('its content is missing');
  if (type === 'OwnerErased') throw new RangeError('an OwnerErased event cannot be erased');
  check(isPosition(erasedBy), 'erasedBy');
}

/** Reads a content into `values`. Returns whether it has fields that this release does not know. */
function readContent(bytes: Uint8Array, { type, content }: EventType, values: Values): boolean {
  const isExtended = readMessage(new WireReader(bytes), content, values);
  if (content.nested !== undefined && values.data === undefined)
    throw new RangeError(`its content is not that of a ${type}`);
  check((values.salt as Uint8Array | undefined)?.length === SALT_BYTES, 'salt');
  return isExtended;
}

/**
 * Reads the fields of a message up to its end into `values`, and `data: true` if it has the nested one. Returns whether
 * there were fields that this release does not know. Throws RangeError unless the numbers ascend and no default is
 * written.
 */
export function readMessage(reader: WireReader, message: Message, values: Values): boolean {
  const { fields, nested, isRefused } = message;
  let isExtended = false;
  for (let last = 0; !reader.isAtEnd; ) {
    const number = reader.tag();
    const field = fields[number];
    const isKnown = field !== undefined || number === nested?.number;
    if (number < last || (number === last && isKnown)) throw new RangeError('its fields are not in order');
    last = number;
    if (field !== undefined) values[field.name] = readField(reader, field);
    else if (isKnown) {
      if (readNested(reader, nested!.message, values)) isExtended = true;
      values.data = true;
    } else {
      if (isRefused(number)) throw new RangeError(`it has the field ${number}, which such an event cannot have`);
      reader.skip();
      isExtended = true;
    }
  }
  return isExtended;
}

function readNested(reader: WireReader, message: Message, values: Values): boolean {
  const outer = reader.enter();
  const isExtended = readMessage(reader, message, values);
  reader.leave(outer);
  return isExtended;
}

/** The value of a field. Throws RangeError for a default that is written although it says nothing. */
function readField(reader: WireReader, field: Field): unknown {
  switch (field.kind) {
    case 'count':
      return stated(field, reader.number(), 0);
    case 'int64':
      return stated(field, reader.int64(), 0n);
    case 'text':
      return field.hasPresence ? reader.text() : stated(field, reader.text(), '');
    case 'bytes':
      return reader.bytes();
    case 'time':
      return readTime(reader);
  }
}

function stated<Value>({ name }: Field, value: Value, unwritten: Value): Value {
  if (value === unwritten) throw new RangeError(`its member ${name} is encoded although it is empty`);
  return value;
}

function readTime(reader: WireReader): number {
  const values: Values = {};
  readNested(reader, TIMESTAMP, values);
  const { seconds = 0, nanos = 0 } = values as { seconds?: number; nanos?: number };
  // The sum would round a few nanoseconds away.
  check(nanos >= 0 && nanos < 1_000_000_000 && nanos % 1_000_000 === 0, 'time');
  return seconds * 1_000 + nanos / 1_000_000;
}

/** The event with these members. An absent member has its default, unless the event may lack it. */
function eventOf({ type, members }: EventType, values: Values, erased = 0): DomainEvent {
  const event: Values = { type };
  if (type === 'OwnerErased') event.erased = erased;
  for (const { name, kind, isOptional, isValid } of members) {
    const value = values[name] ?? (isOptional ? undefined : kind === 'int64' ? 0n : '');
    check(value === undefined || isValid === undefined || isValid(value), name);
    event[name] = value;
  }
  return event as unknown as DomainEvent;
}

function check(isRight: boolean, member: string): void {
  if (!isRight) throw malformed(member);
}

const malformed = (member: string): RangeError => new RangeError(`its member ${member} is malformed`);
