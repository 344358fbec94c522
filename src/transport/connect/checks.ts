import type { UniversalHandler } from '@connectrpc/connect/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PlantStoreError } from '../../domain/errors.ts';

/** Not served: no client of the service uses these types, and their integers would not be exact. */
const UNSERVED_TYPE = /^application\/grpc-web(-text|\+json)/i;

/**
 * Refuses with an Error body what Connect answers with an empty body or not at all: a method other than POST, a content
 * type without a protocol of the method, and a Host that does not form a URL.
 */
export function checkRequest(handler: UniversalHandler, request: FastifyRequest, reply: FastifyReply): void {
  const { method, headers, url } = request;
  if (method !== 'POST') {
    reply.header('allow', 'POST');
    throw new PlantStoreError('METHOD_NOT_ALLOWED', 'use POST');
  }
  const type = headers['content-type'] ?? '';
  if (!handler.supportedContentType(type) || UNSERVED_TYPE.test(type))
    throw new PlantStoreError('UNSUPPORTED_MEDIA_TYPE', `send the body as ${typesOf(handler)}`);
  if (headers.host === undefined || !URL.canParse(url, `http://${headers.host}`))
    throw new PlantStoreError('MALFORMED_REQUEST', 'the Host header must name the service');
}

const typesOf = ({ method }: UniversalHandler): string =>
  method.methodKind === 'unary'
    ? 'application/json, application/proto or application/grpc-web+proto'
    : 'application/connect+json, application/connect+proto or application/grpc-web+proto';
