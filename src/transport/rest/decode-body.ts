import type { DescField, DescMessage, Message } from '@bufbuild/protobuf';
import { invalidField, isOptional, toInteger, typeOf } from './field-type.ts';
import { JsonObject } from './json-object.ts';

type MemberDecoder = (object: JsonObject) => unknown;

/**
 * Makes the function that reads a message from a JSON body. Types are strict: nothing is converted, integers are exact, text is
 * well-formed Unicode. A field that is not `optional` must be there, null is no value, and members that the message does not
 * have are ignored. The function throws MALFORMED_REQUEST or INVALID_FIELD; `path` is where the message is in the request.
 */
export function compileBodyDecoder(message: DescMessage, path: string): (body: Buffer) => Message {
  const members = message.fields.map(
    (field) => [field.localName, memberDecoder(field, `${path}.${field.name}`)] as const,
  );
  return (body) => {
    const object = new JsonObject(body);
    const result: Message & Record<string, unknown> = { $typeName: message.typeName };
    for (const [name, decode] of members) {
      const value = decode(object);
      if (value !== undefined) result[name] = value;
    }
    return result;
  };
}

function memberDecoder(field: DescField, path: string): MemberDecoder {
  const decode = valueDecoder(field, path);
  const name = field.jsonName;
  if (!isOptional(field)) return decode;
  return (object) => (object.get(name) === undefined ? undefined : decode(object));
}

function valueDecoder(field: DescField, path: string): MemberDecoder {
  const type = typeOf(field);
  const name = field.jsonName;
  if (type.kind === 'integer') return (object) => toInteger(type, object.integer(name), path);
  if (type.kind !== 'string') throw new Error(`REST has no form for ${field} in a request body`);
  return (object) => {
    const value = object.get(name);
    if (typeof value !== 'string' || !value.isWellFormed()) throw invalidField(path, 'a string of well-formed Unicode');
    return value;
  };
}
