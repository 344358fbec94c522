import type { PlantEvent } from '../domain/events.ts';
import { MAX_INT64, MIN_INT64 } from '../domain/plant.ts';
import { isTraceparent } from '../domain/trace-context.ts';
import { JsonText } from '../json/json-text.ts';
import type { LoggedEvent } from '../log/event.ts';
import { eventJson } from './event-json.ts';

type Member = string | number;

/**
 * The event that a line of an export in JSON holds, the inverse of `eventJson`. Throws for every text that `eventJson` does not
 * write, down to the byte: what is read is all that is there.
 */
export function parseEvent(line: string): LoggedEvent {
  const text = new JsonText(line);
  const members = text.value as Record<string, Member>;
  const { position, eventId, time, hash } = members;
  const event = {
    position: Number(position),
    eventId: String(eventId),
    time: Date.parse(String(time)),
    event: plantEventOf(members, text.integer('plantId')),
    hash: Buffer.from(String(hash), 'hex'),
  };
  if (eventJson(event) !== line) throw new SyntaxError('it is not written as an export writes it');
  return event;
}

function plantEventOf(members: Record<string, Member>, plantId: bigint | undefined): PlantEvent {
  const { type, owner, actor, name, tag, idempotencyKey, traceparent } = members;
  if (plantId === undefined || plantId < MIN_INT64 || plantId > MAX_INT64)
    throw new RangeError('plantId is not an int64');
  if (traceparent !== undefined && !isTraceparent(traceparent)) throw new SyntaxError('its traceparent is malformed');
  const optional = (member: Member | undefined) => (member === undefined ? undefined : String(member));
  const about = {
    owner: String(owner),
    actor: String(actor),
    plantId,
    idempotencyKey: optional(idempotencyKey),
    traceparent: optional(traceparent),
  };
  if (type !== 'PlantAdded') return { type: 'PlantDeleted', ...about };
  return { type, ...about, name: String(name), tag: optional(tag) };
}
