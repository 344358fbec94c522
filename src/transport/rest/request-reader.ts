import type { IncomingMessage } from 'node:http';
import { create, type DescField, type DescMessage, type Message } from '@bufbuild/protobuf';
import type { FastifyRequest } from 'fastify';
import { InvalidFieldError, PlantStoreError } from '../../domain/errors.ts';
import type { JsonText } from '../../json/json-text.ts';
import { DECIMAL } from '../call-limits.ts';
import { malformedBody, readBody, readJsonBody } from '../http/body.ts';
import { type HttpRule, invalidField, isOptional, toInteger, typeOf } from './http-rule.ts';

/** Compiles the reader of a rule's requests. Throws for a rule that REST cannot represent. */
export function compileReader({ method, pathFields, queryFields, bodyField }: HttpRule) {
  const defaults = create(method.input);
  const inPath = pathFields.map(fieldInPath);
  const inQuery = queryFields.map(fieldInQuery);
  const readMessage = bodyField && compileBodyReader(bodyField.message!);
  const bodyPath = bodyField && `${bodyField.name}.`;
  return {
    /** What REST says of an error: the body is one field of the message, so a path begins in the body. */
    inRest(error: unknown): unknown {
      const isInBody = bodyPath !== undefined && error instanceof InvalidFieldError && error.field.startsWith(bodyPath);
      return isInBody ? error.named(error.field.slice(bodyPath.length)) : error;
    },

    /** Reads the message from path, query and body. Throws MALFORMED_REQUEST or INVALID_FIELD. */
    read({ params, query, body }: FastifyRequest): Message {
      const message: Message & Record<string, unknown> = { ...defaults };
      for (const { localName, key, read } of inPath) message[localName] = read((params as Query)[key]!);
      for (const { localName, key, read } of inQuery) {
        const text = (query as Query)[key];
        if (text !== undefined) message[localName] = read(text);
      }
      if (readMessage === undefined) return message;
      if (body === undefined) throw new PlantStoreError('MALFORMED_REQUEST', 'the body is missing; send a JSON object');
      message[bodyField!.localName] = readMessage(body as Buffer);
      return message;
    },
  };
}

/** Takes an application/json body as bytes, which the route decodes. For Fastify's content type parser. */
export function takeBody(
  request: FastifyRequest,
  payload: IncomingMessage,
  done: (error: Error | null, body?: Buffer) => void,
): void {
  const encoding = request.headers['content-encoding'];
  if (encoding === undefined || encoding.toLowerCase() === 'identity')
    readBody(payload, payload.headers['content-length'], done);
  else done(new PlantStoreError('UNSUPPORTED_MEDIA_TYPE', 'send the body without Content-Encoding'));
}

/** Parsed query. A repeated parameter has all its values. */
export type Query = Readonly<Record<string, string | string[] | undefined>>;

/** A request field in a URL: its name in the message and in the URL, and how its percent-decoded text is read. */
interface UrlField {
  readonly localName: string;
  readonly key: string;
  /** Throws INVALID_FIELD. */
  read(text: string | string[]): unknown;
}

function fieldInPath(field: DescField): UrlField {
  const { localName, name } = field;
  const readText = textReader(field);
  const read: UrlField['read'] = (text) => {
    if (text === '') throw new InvalidFieldError(name, 'is missing: the path ends with a slash; remove it to list');
    return readText(text as string);
  };
  return { localName, key: name, read };
}

function fieldInQuery(field: DescField): UrlField {
  const { localName, jsonName, name } = field;
  const readText = textReader(field);
  const read: UrlField['read'] = (text) => {
    if (typeof text !== 'string') throw invalidField(name, 'given once');
    // A client that lost the text, such as a cursor, would get the answer to another question.
    if (text === '') throw invalidField(name, 'left out or given a value: it is empty');
    return readText(text);
  };
  return { localName, key: jsonName, read };
}

function textReader(field: DescField): (text: string) => unknown {
  const type = typeOf(field);
  const { name } = field;
  switch (type.kind) {
    case 'string':
      return (text) => text;
    case 'integer':
      return (text) => toInteger(type, DECIMAL.test(text) ? BigInt(text) : undefined, name);
    case 'enum':
      return (text) => enumValue(type.values, text, name);
  }
}

function enumValue(values: ReadonlyMap<string, number>, text: string, name: string): number {
  const value = values.get(text);
  if (value === undefined) throw invalidField(name, [...values.keys()].join(' or '));
  return value;
}

/**
 * Compiles the function that reads messages of one type from JSON bodies. Types are strict: no value is converted, and
 * integers are exact, in any notation (`7`, `7.0`, `70e-1`). Text stays as sent, even ill-formed Unicode. Null is not a
 * value. Members that the message does not have are ignored. An absent member leaves its field unset; the service
 * decides whether that is valid. The function throws MALFORMED_REQUEST or INVALID_FIELD; this one throws for a message
 * that REST cannot represent.
 */
function compileBodyReader({ typeName, fields }: DescMessage): (body: Buffer) => Message {
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
  if (type.kind !== 'string') throw new Error(`${field} must be an integer or a text`);
  return (_body, value) => {
    if (typeof value !== 'string')
      throw invalidField(name, value === null ? 'a string, and not null: leave out what has no value' : 'a string');
    return value;
  };
}
