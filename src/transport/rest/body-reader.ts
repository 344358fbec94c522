import type { DescField, DescMessage, Message } from '@bufbuild/protobuf';
import type { JsonText } from '../../json/json-text.ts';
import { malformedBody, readJsonBody } from '../http/body.ts';
import { invalidField, isOptional, toInteger, typeOf } from './field-type.ts';

/**
 * Compiles the function that reads messages of one type from JSON bodies. Types are strict: no value is converted, and
 * integers are exact, in any notation (`7`, `7.0`, `70e-1`). Text stays as sent, even ill-formed Unicode. Null is not a
 * value. Members that the message does not have are ignored. An absent member leaves its field unset; the service
 * decides whether that is valid. The function throws MALFORMED_REQUEST or INVALID_FIELD; this one throws for a message
 * that REST cannot represent.
 */
export function compileBodyReader({ typeName, fields }: DescMessage): (body: Buffer) => Message {
  const members = fields.map((field) => ({
    localName: field.localName,
    jsonName: field.jsonName,
    read: memberReader(field),
  }));
  return (body) => {
    const text = readJsonBody(body);
    const { value: object } = text;
    if (typeof object !== 'object' || object === null || Array.isArray(object))
      throw malformedBody('must be a JSON object');
    const message: Message & Record<string, unknown> = { $typeName: typeName };
    for (const { localName, jsonName, read } of members)
      if (Object.hasOwn(object, jsonName))
        message[localName] = read(text, (object as Record<string, unknown>)[jsonName]);
    return message;
  };
}

const UNQUOTED = 'a JSON number without quotes, an integer';

/** Reads a field from the body and its value as JSON.parse has it, in which a number may have lost digits. */
function memberReader(field: DescField): (body: JsonText, value: unknown) => unknown {
  const type = typeOf(field);
  const { name, jsonName } = field;
  if (!isOptional(field)) throw new Error(`${field} must be optional, so that it can be seen to be missing`);
  if (type.kind === 'integer') return (body) => toInteger(type, body.integer(jsonName), name, UNQUOTED);
  if (type.kind !== 'string') throw new Error(`REST has no form for ${field} in a body`);
  return (_body, value) => {
    if (typeof value !== 'string') throw invalidField(name, 'a string');
    return value;
  };
}
