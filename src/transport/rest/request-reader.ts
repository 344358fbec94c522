import type { IncomingMessage } from 'node:http';
import type { DescField, Message } from '@bufbuild/protobuf';
import type { FastifyRequest } from 'fastify';
import { InvalidFieldError, PlantStoreError } from '../../domain/errors.ts';
import { readBody } from '../http/body.ts';
import { BodyReader } from './body-reader.ts';
import { type FieldType, invalidField, isOptional, toInteger, typeOf } from './field-type.ts';
import type { HttpRule } from './http-rule.ts';

/** Reads a method's request message from path, query and body. */
export class RequestReader {
  readonly #typeName: string;
  readonly #path: readonly UrlField[];
  readonly #query: readonly UrlField[];
  readonly #body: { readonly name: string; readonly path: string; readonly reader: BodyReader } | undefined;

  /** Throws for a rule that REST cannot represent. */
  constructor({ method, pathFields, queryFields, bodyField }: HttpRule) {
    this.#typeName = method.input.typeName;
    this.#path = pathFields.map((field) => new UrlField(field));
    this.#query = queryFields.map((field) => new UrlField(field));
    this.#body = bodyField && {
      name: bodyField.localName,
      path: `${bodyField.name}.`,
      reader: bodyReader(bodyField),
    };
  }

  /**
   * What REST says of an error of the method. The body is one field of the message, so the path of a field of the body
   * begins in the body.
   */
  inRest(error: unknown): unknown {
    const { path } = this.#body ?? {};
    if (path === undefined || !(error instanceof InvalidFieldError) || !error.field.startsWith(path)) return error;
    return error.named(error.field.slice(path.length));
  }

  /** Throws MALFORMED_REQUEST or INVALID_FIELD. */
  read({ params, query, body }: FastifyRequest): Message {
    const message: Message & Record<string, unknown> = { $typeName: this.#typeName };
    for (const field of this.#path) message[field.localName] = field.inPath(params as Record<string, string>);
    for (const field of this.#query) {
      const value = field.inQuery(query as Query);
      if (value !== undefined) message[field.localName] = value;
    }
    if (this.#body === undefined) return message;
    if (body === undefined) throw new PlantStoreError('MALFORMED_REQUEST', 'the body is missing; send a JSON object');
    message[this.#body.name] = this.#body.reader.read(body as Buffer);
    return message;
  }
}

function bodyReader(field: DescField): BodyReader {
  const type = typeOf(field);
  if (type.kind !== 'message') throw new Error(`REST has no form for ${field} as a request body`);
  return new BodyReader(type.message);
}

/**
 * Takes an application/json body as bytes: the route knows its message and decodes it. For Fastify's content type
 * parser.
 */
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

/** A decimal integer of at most 19 digits after leading zeros. */
const DECIMAL = /^-?0*\d{1,19}$/;

/** Parsed query. A repeated parameter has all its values. */
export type Query = Readonly<Record<string, string | string[] | undefined>>;

/** A request field in a URL: in a path segment or in the query. */
class UrlField {
  /** Name in the message. */
  readonly localName: string;
  readonly #name: string;
  readonly #jsonName: string;
  readonly #type: FieldType;
  readonly #absent: unknown;

  /** Throws for a field that has no REST form in a URL. */
  constructor(field: DescField) {
    this.#type = typeOf(field);
    if (this.#type.kind === 'message' || this.#type.kind === 'messages')
      throw new Error(`REST has no form for ${field} in a URL`);
    this.localName = field.localName;
    this.#name = field.name;
    this.#jsonName = field.jsonName;
    this.#absent = isOptional(field) ? undefined : zeroOf(this.#type);
  }

  /** From the path. Throws INVALID_FIELD. */
  inPath(params: Readonly<Record<string, string>>): unknown {
    const text = params[this.#name]!;
    if (text === '')
      throw new InvalidFieldError(this.#name, 'is missing: the path ends with a slash; remove it to list');
    return this.#read(text);
  }

  /**
   * From the query. An absent parameter leaves an `optional` field unset, and any other field at its default. Throws
   * INVALID_FIELD.
   */
  inQuery(query: Query): unknown {
    const text = query[this.#jsonName];
    if (text === undefined) return this.#absent;
    if (typeof text !== 'string') throw invalidField(this.#name, 'given once');
    return this.#read(text);
  }

  /** `text` is percent-decoded. */
  #read(text: string): unknown {
    switch (this.#type.kind) {
      case 'integer':
        return toInteger(this.#type, DECIMAL.test(text) ? BigInt(text) : undefined, this.#name);
      case 'enum':
        return enumValue(this.#type.values, text, this.#name);
      default:
        return text;
    }
  }
}

function enumValue(values: ReadonlyMap<string, number>, text: string, name: string): number {
  const value = values.get(text);
  if (value === undefined) throw invalidField(name, [...values.keys()].join(' or '));
  return value;
}

const zeroOf = (type: FieldType): unknown => (type.kind === 'integer' ? type.zero : type.kind === 'enum' ? 0 : '');
