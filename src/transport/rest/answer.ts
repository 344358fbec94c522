import type { Readable } from 'node:stream';
import type { DescField, DescMessage } from '@bufbuild/protobuf';
import type { FastifyReply } from 'fastify';
import { ArrayStream } from './array-stream.ts';
import { compileEncoder, encodeArray, type Fields } from './encode.ts';
import { JSON_TYPE } from './error-reply.ts';
import { typeOf } from './field-type.ts';
import type { HttpRule } from './http-rule.ts';
import { compileNextLink } from './next-link.ts';

/** Sets the status and the headers of an answer, and returns its body; undefined: it has none. */
export type Answer = (result: Fields, request: Fields, reply: FastifyReply) => string | Readable | undefined;

/** Makes the function that turns the response of a rule's method, to a request, into the answer. */
export function compileAnswer(rule: HttpRule): Answer {
  const { responseField } = rule;
  const position = positionAnswer(rule);
  if (responseField === undefined)
    return (result, _request, reply) => {
      position(result, reply);
      reply.code(204);
      return undefined;
    };
  const type = typeOf(responseField);
  if (type.kind === 'messages') return listAnswer(rule, responseField, type.message);
  if (type.kind !== 'message') throw new Error(`REST has no form for ${responseField} as a response body`);
  const encode = compileEncoder(type.message);
  return (result, _request, reply) => {
    position(result, reply);
    reply.type(JSON_TYPE);
    return encode(result[responseField.localName] as Fields);
  };
}

/** A `position` that the body does not hold goes out as a header. */
function positionAnswer({ method, responseField }: HttpRule): (result: Fields, reply: FastifyReply) => void {
  const field = method.output.fields.find(({ name }) => name === 'position');
  if (field === undefined || field === responseField) return () => {};
  return (result, reply) => reply.header('plantstore-position', String(result[field.localName]));
}

function listAnswer(rule: HttpRule, { localName }: DescField, row: DescMessage): Answer {
  const encode = compileEncoder(row);
  const nextLink = compileNextLink(rule);
  return (result, request, reply) => {
    const link = nextLink(result, request);
    if (link !== undefined) reply.header('link', link);
    reply.type(JSON_TYPE);
    const rows = result[localName] as readonly Fields[] | AsyncIterable<readonly Fields[]>;
    if (Array.isArray(rows)) return encodeArray(rows, encode);
    const stream = new ArrayStream(rows as AsyncIterable<readonly Fields[]>, encode);
    if (reply.request.method === 'HEAD') {
      stream.destroy();
      return undefined;
    }
    return stream;
  };
}
