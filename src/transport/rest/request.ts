import type { IncomingMessage } from 'node:http';
import type { DescField, Message } from '@bufbuild/protobuf';
import type { FastifyRequest } from 'fastify';
import { PlantStoreError } from '../../domain/errors.ts';
import { readBody } from '../http/body.ts';
import { compileBodyDecoder } from './decode-body.ts';
import { compileQueryDecoder, compileTextDecoder, type Query } from './decode-url.ts';
import { typeOf } from './field-type.ts';
import type { HttpRule } from './http-rule.ts';

type FieldDecoder = (request: FastifyRequest) => unknown;

/** Makes the function that reads a method's request message from path, query and body. It throws MALFORMED_REQUEST or INVALID_FIELD. */
export function compileRequest(rule: HttpRule): (request: FastifyRequest) => Message {
  const { pathFields, queryFields, bodyField } = rule;
  const { typeName } = rule.method.input;
  const fields = [
    ...pathFields.map((field) => [field.localName, fromPath(field)] as const),
    ...queryFields.map((field) => [field.localName, fromQuery(field)] as const),
    ...(bodyField === undefined ? [] : [[bodyField.localName, fromBody(bodyField)] as const]),
  ];
  return (request) => {
    const message: Message & Record<string, unknown> = { $typeName: typeName };
    for (const [name, decode] of fields) {
      const value = decode(request);
      if (value !== undefined) message[name] = value;
    }
    return message;
  };
}

function fromPath(field: DescField): FieldDecoder {
  const decode = compileTextDecoder(field);
  return ({ params }) => decode((params as Record<string, string>)[field.name]!);
}

function fromQuery(field: DescField): FieldDecoder {
  const decode = compileQueryDecoder(field);
  return ({ query }) => decode(query as Query);
}

function fromBody(field: DescField): FieldDecoder {
  const type = typeOf(field);
  if (type.kind !== 'message') throw new Error(`REST has no form for ${field} as a request body`);
  const decode = compileBodyDecoder(type.message, field.name);
  return ({ body }) => {
    if (body === undefined) throw new PlantStoreError('MALFORMED_REQUEST', 'the body is missing; send a JSON object');
    return decode(body as Buffer);
  };
}

/** Reads an application/json body: leaves the bytes to the route, which knows their message. For Fastify's content type parser. */
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
