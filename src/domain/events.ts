import { PLANT_FIELDS, type Plant, type PlantField, type PlantKey } from './plant.ts';

/** What commands and their events say of the request. */
export interface Circumstances {
  /** Subject of the token that gave the command. */
  readonly actor: string;
  /** Issuer of that token: actor names are unique for each issuer. */
  readonly issuer?: string | undefined;
  /** The caller's name for the request, if it had one; never empty. */
  readonly idempotencyKey?: string | undefined;
  /** The span of the command, or of its append, if it is part of a trace; see isTraceparent. */
  readonly traceparent?: string | undefined;
}

/** The owner had no plant of this id, and has one now. */
export interface PlantAdded extends Circumstances, Plant {
  readonly type: 'PlantAdded';
  readonly owner: string;
  readonly plantId: bigint;
}

/** The owner had a plant of this id, and has none now. */
export interface PlantDeleted extends Circumstances {
  readonly type: 'PlantDeleted';
  readonly owner: string;
  readonly plantId: bigint;
}

/** The owner has no plants any more, and earlier events lose their contents. The event does not name the owner. */
export interface OwnerErased extends Circumstances {
  readonly type: 'OwnerErased';
  /** Number of earlier events that lose their content. */
  readonly erased: number;
  /** SHA-256(key || owner). Undefined in an event of 1.0.0. */
  readonly subject?: Uint8Array | undefined;
}

/** An event of one plant. */
export type PlantEvent = PlantAdded | PlantDeleted;

/** Any event. */
export type DomainEvent = PlantEvent | OwnerErased;

/** Whether the plant is there after the event, and is what the event says: it then has all texts of the plant. */
export const leavesPlant = (event: PlantEvent): event is Exclude<PlantEvent, PlantDeleted> =>
  event.type !== 'PlantDeleted';

/** The key of an event's plant. */
export const keyOf = (event: PlantEvent): PlantKey => ({ owner: event.owner, id: event.plantId });

/** A member of an event's content, described once for every codec. */
export interface ContentField {
  /** Its name in the event and in JSON. */
  readonly name: Exclude<keyof PlantAdded | keyof PlantDeleted | keyof OwnerErased, 'type' | 'erased'>;
  /** `int64`: a bigint. `text`: well-formed Unicode. `bytes`: octets. */
  readonly kind: 'int64' | 'text' | 'bytes';
  /** Its message in event.proto: `content` is Content, `data` is the message of the event's type. */
  readonly part: 'content' | 'data';
  /** Its number in that message, below 16. */
  readonly number: number;
  /** The types of events with this member. */
  readonly of: readonly DomainEvent['type'][];
  /** An event may lack it. */
  readonly isOptional?: true;
  /** An empty value differs from an absent one, so an empty one is written. */
  readonly hasPresence?: true;
  /** Checks a value beyond its kind. */
  readonly isValid?: (value: unknown) => boolean;
}

const PLANTS: readonly DomainEvent['type'][] = ['PlantAdded', 'PlantDeleted'];
const ALL: readonly DomainEvent['type'][] = [...PLANTS, 'OwnerErased'];

/** Bytes of a subject. */
const SUBJECT_BYTES = 32;

const isSubject = (value: unknown): boolean => value instanceof Uint8Array && value.length === SUBJECT_BYTES;

const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Whether a value is a `traceparent` of version 00 (W3C Trace Context, section 3.2) without an id of zeros. */
const isTraceparent = (value: unknown): value is string => typeof value === 'string' && TRACEPARENT.test(value);

const textOf = ({ name, number, isRequired }: PlantField): ContentField => ({
  ...{ name, kind: 'text', part: 'data', number, of: ['PlantAdded'] },
  ...(!isRequired && { isOptional: true, hasPresence: true }),
});

/** The members of an event's content, in the order of the JSON export. */
export const CONTENT_FIELDS: readonly ContentField[] = [
  { name: 'owner', kind: 'text', part: 'content', number: 2, of: PLANTS },
  { name: 'actor', kind: 'text', part: 'content', number: 3, of: ALL },
  { name: 'issuer', kind: 'text', part: 'content', number: 4, of: ALL, isOptional: true },
  { name: 'plantId', kind: 'int64', part: 'data', number: 1, of: PLANTS },
  ...PLANT_FIELDS.map(textOf),
  { name: 'idempotencyKey', kind: 'text', part: 'content', number: 5, of: ALL, isOptional: true },
  { name: 'traceparent', kind: 'text', part: 'content', number: 6, of: ALL, isOptional: true, isValid: isTraceparent },
  {
    ...{ name: 'subject', kind: 'bytes', part: 'content', number: 9, of: ['OwnerErased'] },
    ...{ isOptional: true, isValid: isSubject },
  },
];

/** The number of `data` in Content by the type of the event. 0: the type has no data. */
export const DATA_NUMBER: Readonly<Record<DomainEvent['type'], number>> = {
  PlantAdded: 7,
  PlantDeleted: 8,
  OwnerErased: 0,
};
