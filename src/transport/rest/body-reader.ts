import type { DescField, DescMessage, Message } from '@bufbuild/protobuf';
import type { JsonText } from '../../json/json-text.ts';
import { malformedBody, readJsonBody } from '../http/body.ts';
import { type IntegerType, invalidField, isOptional, toInteger, typeOf } from './field-type.ts';

/** A field of the message as a member of the object. */
interface Member {
  /** Name in the message. */
  readonly localName: string;
  /** Name in the object. */
  readonly jsonName: string;
  readonly type: IntegerType | { readonly kind: 'string' };
  /** Proto name of the field, for errors. */
  readonly name: string;
}

/**
 * Reads messages of one type from JSON bodies. Types are strict: no value is converted, and integers are exact. Text
 * stays as sent, even ill-formed Unicode. Null is not a value. Members that the message does not have are ignored. An
 * absent member leaves its field unset; the service decides whether that is valid.
 */
export class BodyReader {
  readonly #typeName: string;
  readonly #members: readonly Member[];

  /** Throws for a message that REST cannot represent. */
  constructor({ typeName, fields }: DescMessage) {
    this.#typeName = typeName;
    this.#members = fields.map(memberOf);
  }

  /** Throws MALFORMED_REQUEST or INVALID_FIELD. */
  read(body: Buffer): Message {
    const object = new JsonObject(body);
    const message: Message & Record<string, unknown> = { $typeName: this.#typeName };
    for (const member of this.#members) {
      const value = readMember(object, member);
      if (value !== undefined) message[member.localName] = value;
    }
    return message;
  }
}

function memberOf(field: DescField): Member {
  const type = typeOf(field);
  if (!isOptional(field)) throw new Error(`${field} must be optional, so that it can be seen to be missing`);
  if (type.kind !== 'integer' && type.kind !== 'string') throw new Error(`REST has no form for ${field} in a body`);
  const { localName, jsonName, name } = field;
  return { localName, jsonName, type, name };
}

function readMember(object: JsonObject, { jsonName, type, name }: Member): unknown {
  const value = object.get(jsonName);
  if (value === undefined) return undefined;
  if (type.kind === 'integer') return toInteger(type, object.integer(jsonName), name);
  if (typeof value !== 'string') throw invalidField(name, 'a string');
  return value;
}

/** A body that is a JSON object (RFC 8259), with exact integers. */
class JsonObject {
  readonly #text: JsonText;
  readonly #members: Readonly<Record<string, unknown>>;

  /** Parses an object in UTF-8 without a byte order mark and without duplicate members. Throws MALFORMED_REQUEST. */
  constructor(bytes: Buffer) {
    this.#text = readJsonBody(bytes);
    const { value } = this.#text;
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw malformedBody('must be a JSON object');
    this.#members = value as Record<string, unknown>;
  }

  /** A member's value as JSON.parse reads it: a number may have lost its last digits. Undefined: no such member. */
  get(name: string): unknown {
    return Object.hasOwn(this.#members, name) ? this.#members[name] : undefined;
  }

  /**
   * The exact integer of a member in any notation (`7`, `7.0`, `70e-1`). Undefined: not an integer of at most 19
   * digits.
   */
  integer(name: string): bigint | undefined {
    return this.#text.integer(name);
  }
}
