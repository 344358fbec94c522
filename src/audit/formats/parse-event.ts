import { MAX_INT64, MIN_INT64 } from '../../domain/plant.ts';
import { JsonText } from '../../json/json-text.ts';
import { commitmentOf } from '../../log/event/chain.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import { FIELDS, type Field, type FlatEvent } from '../../log/event/fields.ts';
import { unflattened } from '../../log/event/flat-event.ts';
import { eventJson } from './event-json.ts';

/**
 * Parses a line of an export in JSON, the inverse of `eventJson`. Throws for any text that `eventJson` would not write,
 * so nothing in a line is ignored.
 */
export function parseEvent(line: string): LoggedEvent {
  const text = new JsonText(line);
  const members = text.value as Record<string, unknown>;
  const flat: Record<string, unknown> = {};
  for (const field of FIELDS)
    if (members[field.name] !== undefined) flat[field.name] = memberValue(field, members[field.name], text);
  const event = committed(flat as FlatEvent);
  if (eventJson(event) !== line) throw new SyntaxError('its encoding is not that of an export');
  return event;
}

/** Adds the commitment, which an export omits because it follows from the content. */
function committed(flat: FlatEvent): LoggedEvent {
  if (flat.commitment !== undefined) return unflattened(flat);
  const event = unflattened({ ...flat, commitment: new Uint8Array(32) });
  return { ...event, commitment: commitmentOf(event.event!, event.salt!) };
}

function memberValue({ name, kind }: Field, value: unknown, text: JsonText): unknown {
  switch (kind) {
    case 'count':
      return Number(value);
    case 'int64': {
      const integer = text.integer(name);
      if (integer === undefined || integer < MIN_INT64 || integer > MAX_INT64)
        throw new RangeError(`${name} is not an int64`);
      return integer;
    }
    case 'time':
      return Date.parse(String(value));
    case 'bytes':
      return Buffer.from(String(value), 'hex');
    case 'text':
      return String(value);
  }
}
