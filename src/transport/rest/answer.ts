import { finished, type Readable } from 'node:stream';
import type { DescField, DescMessage } from '@bufbuild/protobuf';
import type { FastifyReply } from 'fastify';
import { whileValid } from '../../auth/validity.ts';
import { toPlantStoreError } from '../../domain/errors.ts';
import { NOT_IN_BASIC } from '../../plants/view.ts';
import { connectionOf } from '../http/connection.ts';
import { JSON_TYPE } from '../http/error-reply.ts';
import { CACHING, entityTag, isUnmodified, varyBy } from '../http/headers.ts';
import { arrayStream, compileEncoder, type Encoder, encodeArray, type Fields } from './encode.ts';
import { type HttpRule, typeOf } from './http-rule.ts';

/** Sets the status and the headers of a response, and returns its body. Undefined: no body. */
export type Responder = (
  result: Fields,
  request: Fields,
  reply: FastifyReply,
) => string | Buffer | Readable | undefined;

/** Compiles the function that turns the result of a rule's method, for a request, into the response. */
export function compileResponder(rule: HttpRule): Responder {
  const { responseField } = rule;
  const position = positionAnswer(rule);
  if (responseField === undefined)
    return (result, _request, reply) => {
      position(result, reply);
      reply.code(204);
      return undefined;
    };
  if (responseField.fieldKind === 'list') return listAnswer(rule, responseField, responseField.message!);
  const encode = compileEncoder(responseField.message!);
  return (result, _request, reply) => {
    position(result, reply);
    if (rule.verb === 'GET') reply.header('cache-control', CACHING);
    reply.type(JSON_TYPE);
    return encode(result[responseField.localName] as Fields);
  };
}

/** Sends a `position` that the body does not contain as a header. */
function positionAnswer({ method, responseField }: HttpRule): (result: Fields, reply: FastifyReply) => void {
  const field = method.output.fields.find(({ name }) => name === 'position');
  if (field === undefined || field === responseField) return () => {};
  return (result, reply) => reply.header('plantstore-position', String(result[field.localName]));
}

/** Most bytes of a body kept as text, which up to about this size Node sends in one piece with the headers. */
const MAX_TEXT_BYTES = 16 * 1024;

type Rows = AsyncIterableIterator<readonly Fields[]>;

/** A list in memory, in the form in which it is sent. */
interface Representation {
  readonly body: string | Buffer;
  readonly length: number;
  readonly tag: string;
  readonly link: string | undefined;
}

function listAnswer(rule: HttpRule, { localName }: DescField, row: DescMessage): Responder {
  const basic = compileEncoder(row, NOT_IN_BASIC);
  const full = compileEncoder(row);
  const encoderOf = (result: Fields) => (result.isFull === true ? full : basic);
  const nextLink = compileNextLink(rule);
  // A result that is sent more than once is the same object. Its bytes are made once for all who ask with one Link.
  const known = new WeakMap<Fields, Representation>();
  const represent = (result: Fields, link: string | undefined): Representation => {
    const last = known.get(result);
    if (last !== undefined && last.link === link) return last;
    const text = encodeArray(result[localName] as readonly Fields[], encoderOf(result));
    const length = Buffer.byteLength(text);
    const body = length <= MAX_TEXT_BYTES ? text : bytesOf(text, length);
    const representation = { body, length, link, tag: entityTag(text, link) };
    known.set(result, representation);
    return representation;
  };
  return (result, request, reply) => {
    const { method, headers } = reply.request;
    reply.header('cache-control', CACHING);
    // The same URL is an event stream too.
    varyBy(reply, 'accept');
    const rows = result[localName] as readonly Fields[] | Rows;
    const link = nextLink(result, request);
    const short = Array.isArray(rows) ? represent(result, link) : undefined;
    if (link !== undefined) reply.header('link', link);
    if (short !== undefined) reply.header('etag', short.tag);
    const unmodified = isUnmodified(headers['if-none-match'], short?.tag);
    if (unmodified) reply.code(304);
    else reply.type(JSON_TYPE);
    if (short !== undefined) {
      if (unmodified) return undefined;
      reply.header('content-length', short.length);
      return short.body;
    }
    const stream = longArray(rows as Rows, encoderOf(result), reply);
    return unmodified || method === 'HEAD' ? undefined : stream;
  };
}

/**
 * The stream of a long list. It breaks off when the caller's token expires, however slowly it is read. The rows are let
 * go once the request is answered, also if nobody has read them.
 */
function longArray(rows: Rows, encode: Encoder<Fields>, { request, raw }: FastifyReply): Readable {
  const batches = whileValid(request.principal!.validity, (ended) => {
    ended.addEventListener('abort', () => stream.destroy(ended.reason));
    return rows;
  });
  finished(raw, () => void rows.return?.().catch(() => {}));
  const stream = arrayStream(batches, encode);
  stream.on('pause', () => connectionOf(request.raw.socket).countUnread());
  stream.on('error', (error) => {
    request.failure = toPlantStoreError(error);
  });
  return stream;
}

/** A buffer of its own: a slice of Node's pool would keep the whole pool in memory. */
function bytesOf(text: string, length: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(length);
  bytes.write(text);
  return bytes;
}

/** Compiles the link to the rest of a list (RFC 8288): the same request with the cursor in `next_cursor`. */
function compileNextLink(rule: HttpRule): (result: Fields, request: Fields) => string | undefined {
  const next = rule.method.output.fields.find(({ name }) => name === 'next_cursor');
  if (next === undefined) return () => undefined;
  return (result, request) => {
    const cursor = result[next.localName] as string;
    if (cursor === '') return undefined;
    const query = new URLSearchParams();
    for (const field of rule.queryFields) {
      const value = field.localName === 'cursor' ? cursor : request[field.localName];
      const text = textOf(field, value);
      if (text !== undefined) query.set(field.jsonName, text);
    }
    return `<${rule.path}?${query}>; rel="next"`;
  };
}

/** A value as it was in the query. Undefined: it was absent. */
function textOf(field: DescField, value: unknown): string | undefined {
  const type = typeOf(field);
  if (type.kind === 'enum') return [...type.values].find(([, number]) => number === value)?.[0];
  return value === undefined ? undefined : String(value);
}
