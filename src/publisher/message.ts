import { type DomainEvent, leavesPlant, type PlantEvent } from '../domain/events.ts';
import { plantFields } from '../domain/plant.ts';
import { isIntact } from '../log/event/chain.ts';
import { encodeContent } from '../log/event/encode.ts';
import type { LoggedEvent } from '../log/event/event.ts';

/** An event as a Kafka message: a CloudEvent 1.0 in binary content mode (Kafka protocol binding). */
export interface EventMessage {
  /** Owner and plant id, the same for all events of a plant. For OwnerErased, the owner only. */
  readonly key: string;
  /** The event's data as JSON. */
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Header with the event's position in the log, in decimal. */
export const POSITION_HEADER = 'plantstore-position';
/** Header with the event's hash, in lower-case hexadecimal. */
export const HASH_HEADER = 'plantstore-hash';

/** Header with the idempotency key of the event's request, if it had one. Needed to compute the commitment. */
export const IDEMPOTENCY_KEY_HEADER = 'plantstore-idempotency-key';

/** Header with the salt of the event's content, in lower-case hexadecimal. */
const SALT_HEADER = 'plantstore-salt';
/** Header with the issuer of the actor's token, if known. */
const ISSUER_HEADER = 'plantstore-issuer';

/** `ce_type` of an OwnerErased event. */
export const OWNER_ERASED = 'plantstore.v1.OwnerErased';

/** `ce_source` of every event. */
const SOURCE = '/plantstore';

/**
 * The message of an event. Deterministic, so every instance makes the same bytes. Undefined for an erased event, and
 * for an OwnerErased event whose erasure is complete: the owner is known no more.
 */
export function eventMessage(logged: LoggedEvent): EventMessage | undefined {
  const { position, eventId, time, commitment, salt, hash, event } = logged;
  if (event === undefined || salt === undefined) return undefined;
  const owner = event.type === 'OwnerErased' ? logged.erases?.owner : event.owner;
  if (owner === undefined) return undefined;
  const subject = event.type === 'OwnerErased' ? encodeURIComponent(owner) : subjectOf(event);
  const { traceparent, idempotencyKey, issuer } = event;
  return {
    key: subject,
    value: dataOf(event, owner),
    headers: {
      'content-type': 'application/json',
      ce_specversion: '1.0',
      ce_id: eventId,
      ce_source: SOURCE,
      ce_type: `plantstore.v1.${event.type}`,
      ce_time: new Date(time).toISOString(),
      ce_subject: subject,
      [POSITION_HEADER]: String(position),
      'plantstore-commitment': hex(commitment),
      [SALT_HEADER]: hex(salt),
      [HASH_HEADER]: hex(hash),
      ...(idempotencyKey !== undefined && { [IDEMPOTENCY_KEY_HEADER]: idempotencyKey }),
      ...(issuer !== undefined && { [ISSUER_HEADER]: issuer }),
      ...(event.type === 'OwnerErased' && event.subject && { 'plantstore-subject': hex(event.subject) }),
      // The first is CloudEvents' Distributed Tracing extension; the second is for OpenTelemetry's Kafka
      // instrumentation.
      ...(traceparent !== undefined && { ce_traceparent: traceparent, traceparent }),
    },
  };
}

/**
 * The message of an event whose content or owner was erased after it was published, from `record`, which is said to be
 * that message. Undefined if the event does not commit to what the record says. Nothing shows whom an OwnerErased event
 * erased: the message names the owner of the record.
 */
export function messageOfErased(logged: LoggedEvent, record: EventMessage): EventMessage | undefined {
  try {
    if (logged.type === 'OwnerErased') {
      const owner = decodeURIComponent(record.key);
      return eventMessage({ ...logged, erases: { owner, key: NO_KEY, isCleared: true, isPublished: true } });
    }
    const event = plantEventIn(record, logged.type);
    const salt = Buffer.from(record.headers[SALT_HEADER] ?? '', 'hex');
    const published = { ...logged, event, salt, content: encodeContent(event, salt) };
    return isIntact(published) ? eventMessage(published) : undefined;
  } catch {
    // It is not an event's message, and may be anybody's.
    return undefined;
  }
}

const NO_KEY = new Uint8Array();

/** What a message says of a plant. Anything may be in it: only what an event commits to is known to be right. */
function plantEventIn({ key, value, headers }: EventMessage, type: PlantEvent['type']): PlantEvent {
  const [owner = '', plantId = ''] = key.split('/');
  const data = JSON.parse(value);
  const event = {
    type,
    owner: decodeURIComponent(owner),
    actor: data.actor,
    // The value has it too, where JSON.parse rounds it.
    plantId: BigInt.asIntN(64, BigInt(plantId)),
    issuer: headers[ISSUER_HEADER],
    idempotencyKey: headers[IDEMPOTENCY_KEY_HEADER],
    traceparent: headers.traceparent,
  } as PlantEvent;
  return leavesPlant(event) ? { ...event, ...plantFields(data) } : event;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Percent-encoded: a CloudEvents attribute has no control characters, and the slash separates. */
const subjectOf = ({ owner, plantId }: PlantEvent): string => `${encodeURIComponent(owner)}/${plantId}`;

function dataOf(event: DomainEvent, owner: string): string {
  const { actor } = event;
  if (event.type === 'OwnerErased') return JSON.stringify({ owner, actor, erased: event.erased });
  const plantId = JSON.rawJSON(String(event.plantId));
  const plant = leavesPlant(event) ? plantFields(event) : {};
  return JSON.stringify({ owner, actor, plantId, ...plant });
}
