import { CONTENT_FIELDS, type ContentField, DATA_NUMBER, type DomainEvent } from '../../domain/events.ts';
import { BrokenChainError } from './chain.ts';
import type { Head, LoggedEvent, StoredEvent } from './event.ts';
import { CONTENT, DIGEST, EVENT, type Field, isPosition, isTime, SALT } from './fields.ts';
import { WireReader } from './wire-reader.ts';

/** The values of fields by name. */
type Values = Record<string, unknown>;

/** The fields of a message by number. */
type Numbered = readonly (Field | undefined)[];

const numbered = (fields: readonly Field[]): Numbered => {
  const found: (Field | undefined)[] = [];
  for (const field of fields) found[field.number] = field;
  return found;
};

/** What the events of a type have. */
interface EventType {
  /** One shared string for all events of the type: each decoded string would be a new one. */
  readonly type: DomainEvent['type'];
  readonly members: readonly ContentField[];
  /** The fields of Content, without `data`. */
  readonly content: Numbered;
  /** The fields of the message in `data`. */
  readonly data: Numbered;
}

const SALT_FIELD: Field = { name: 'salt', kind: 'bytes', number: 1 };

/** A Map: a look-up in an object by a freshly decoded string keeps V8 from optimizing every function that contains it. */
const TYPES: ReadonlyMap<unknown, EventType> = new Map(
  (Object.keys(DATA_NUMBER) as DomainEvent['type'][]).map((type) => {
    const members = CONTENT_FIELDS.filter(({ of }) => of.includes(type));
    const content = numbered([SALT_FIELD, ...members.filter(({ part }) => part === 'content')]);
    return [type, { type, members, content, data: numbered(members.filter(({ part }) => part === 'data')) }];
  }),
);

const EVENT_FIELDS = numbered(EVENT);

/** The number of `hash` in Event. Unknown fields have lower ones, so that the hash can follow the canonical bytes. */
const HASH = 15;

/** The numbers of Content that this release knows, of events of any type. */
const CONTENT_NUMBERS: ReadonlySet<number> = new Set([
  ...CONTENT.map(({ number }) => number),
  ...Object.values(DATA_NUMBER),
]);

/**
 * Decodes an event. Throws RangeError, with the reason, when the bytes are not the canonical ones of an event, apart
 * from fields that this release does not know, or when what stands beside them does not fit.
 */
export function decode({ bytes, hash, content, erasedBy, erases }: Omit<StoredEvent, 'position'>): LoggedEvent {
  const { eventType, erased, isExtended, ...frame } = frameOf(bytes, hash);
  const { type } = eventType;
  check(erases === undefined || type === 'OwnerErased', 'erases');
  const kept = { ...frame, type, bytes, hash, content, erasedBy, ...(erases && { erases }) };
  if (content === undefined) {
    checkErased(type, erasedBy);
    return { ...kept, event: undefined, salt: undefined, isExtended };
  }
  check(erasedBy === undefined, 'erasedBy');
  const values: Values = {};
  const isContentExtended = readContent(content, eventType, values);
  const salt = values.salt as Uint8Array;
  return { ...kept, event: eventOf(eventType, values, erased), salt, isExtended: isExtended || isContentExtended };
}

/** Decodes an event that a store keeps. Throws BrokenChainError for one that no release wrote. */
export function decodeStored(stored: StoredEvent): LoggedEvent {
  try {
    const event = decode(stored);
    if (event.position !== stored.position)
      throw new RangeError(`its bytes are those of the event at position ${event.position}`);
    return event;
  } catch (error) {
    throw brokenAt(stored.position, error);
  }
}

/** The head of a log that ends with this event. Throws BrokenChainError for one that no release wrote. */
export function headOf({ position, bytes, hash }: Pick<StoredEvent, 'position' | 'bytes' | 'hash'>): Head {
  try {
    const { time } = frameOf(bytes, hash);
    return { position, hash, time };
  } catch (error) {
    throw brokenAt(position, error);
  }
}

const brokenAt = (position: number, error: unknown): unknown =>
  error instanceof RangeError ? new BrokenChainError(position, error.message) : error;

/** What the bytes of an event say. */
type Frame = Pick<LoggedEvent, 'position' | 'eventId' | 'time' | 'commitment' | 'isExtended'> & {
  readonly eventType: EventType;
  readonly erased: number | undefined;
};

function frameOf(bytes: Uint8Array, hash: Uint8Array): Frame {
  const values: Values = {};
  const isExtended = readFields(new WireReader(bytes), EVENT_FIELDS, values, (number) => {
    if (number >= HASH) throw new RangeError('it has a field that no event has');
    return false;
  });
  const { position = 0, eventId = '', time, commitment, erased } = values as Partial<Frame>;
  check(isPosition(position), 'position');
  check(commitment?.length === DIGEST, 'commitment');
  check(hash.length === DIGEST, 'hash');
  if (time === undefined || !isTime(time)) throw malformed('time');
  const eventType = typeOf(values.type);
  check(erased === undefined || (eventType.type === 'OwnerErased' && erased > 0), 'erased');
  return { position, eventId, time, commitment: commitment!, isExtended, eventType, erased };
}

function typeOf(text: unknown): EventType {
  const type = TYPES.get(text);
  if (type === undefined) throw new RangeError(`there is no event of type ${text}`);
  return type;
}

function checkErased(type: DomainEvent['type'], erasedBy: number | undefined): void {
  if (erasedBy === undefined) throw new RangeError('its content is missing');
  if (type === 'OwnerErased') throw new RangeError('no OwnerErased is erased');
  check(isPosition(erasedBy), 'erasedBy');
}

/** Reads a content into `values`. Returns whether it has fields that this release does not know. */
function readContent(bytes: Uint8Array, { type, content, data }: EventType, values: Values): boolean {
  const reader = new WireReader(bytes);
  const number = DATA_NUMBER[type];
  let hasData = number === 0;
  let isDataExtended = false;
  const isExtended = readFields(reader, content, values, (found) => {
    // A library that knows no type of event reads a field of another type as what the event says.
    if (found !== number && CONTENT_NUMBERS.has(found)) throw notOfType(type);
    if (found !== number) return false;
    if (hasData) throw new RangeError('its fields are not in order');
    hasData = true;
    reader.message(() => {
      isDataExtended = readFields(reader, data, values);
    });
    return true;
  });
  if (!hasData) throw notOfType(type);
  check((values.salt as Uint8Array | undefined)?.length === SALT, 'salt');
  return isExtended || isDataExtended;
}

const notOfType = (type: DomainEvent['type']) => new RangeError(`its content is not that of a ${type}`);

/**
 * Reads the fields of a message into `values`. `other` reads a field of another number, or returns false. Returns
 * whether there were fields that nobody knows. Throws RangeError unless the numbers ascend and no default is written.
 */
function readFields(
  reader: WireReader,
  fields: Numbered,
  values: Values,
  other: (number: number) => boolean = () => false,
): boolean {
  let isExtended = false;
  let last = 0;
  while (!reader.isAtEnd) {
    const number = reader.tag();
    const field = fields[number];
    if (number < last || (number === last && field !== undefined)) throw new RangeError('its fields are not in order');
    last = number;
    if (field !== undefined) {
      const value = readField(reader, field);
      if (isDefault(value) && field.hasPresence === undefined && field.kind !== 'time')
        throw new RangeError(`its member ${field.name} is written although it is empty`);
      values[field.name] = value;
    } else if (!other(number)) {
      reader.skip();
      isExtended = true;
    }
  }
  return isExtended;
}

const isDefault = (value: unknown): boolean =>
  value === '' || value === 0n || value === 0 || (value instanceof Uint8Array && value.length === 0);

function readField(reader: WireReader, { kind }: Field): unknown {
  switch (kind) {
    case 'count':
      return reader.number();
    case 'int64':
      return reader.int64();
    case 'text':
      return reader.text();
    case 'bytes':
      return reader.bytes();
    case 'time':
      return readTime(reader);
  }
}

const TIMESTAMP = numbered([
  { name: 'seconds', kind: 'count', number: 1 },
  { name: 'nanos', kind: 'count', number: 2 },
]);

function readTime(reader: WireReader): number {
  const values: Values = {};
  reader.message(() => {
    if (readFields(reader, TIMESTAMP, values)) throw new RangeError('its member time is malformed');
  });
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
