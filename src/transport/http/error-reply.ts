import type { FastifyReply, FastifyRequest } from 'fastify';
import { PlantStoreError, type Reason, toPlantStoreError } from '../../domain/errors.ts';
import { logFailure } from '../failure.ts';
import { answerWhileReading, isUnread } from './closing.ts';

/** Content type of every JSON response. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/** The Error of the REST contract, as JSON. */
export const errorBody = (error: PlantStoreError): string =>
  JSON.stringify({ error: error.code, message: error.message });

/** Response header of every failure: the stable reason of gRPC's ErrorInfo. */
export const REASON_HEADER = 'plantstore-reason';

/** Seconds for Retry-After of a 503 whose error does not name its own. */
const RETRY_AFTER = 1;

/** Failures of Fastify and its plugins, by their `code`. */
const FOREIGN: Readonly<Record<string, readonly [Reason, string]>> = {
  FST_ERR_BAD_URL: ['MALFORMED_REQUEST', 'the path must be percent-encoded UTF-8'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['UNSUPPORTED_MEDIA_TYPE', 'send the body as application/json'],
  FST_STATIC_FORBIDDEN_PATH: ['ROUTE_NOT_FOUND', 'unknown path'],
};

/** Answers with a thrown error of any origin. Internal errors are logged and never sent. */
export function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const error = toPlantStoreError(foreignError(thrown, request) ?? thrown);
  request.failure = error;
  logFailure(error, request.log, request.id);
  const { retryAfter, challenge } = error.details;
  // A list may set the link to its next page and then fail before its first byte.
  reply.removeHeader('link');
  if (challenge !== undefined) reply.header('www-authenticate', challenge);
  if (error.status === 503 || retryAfter !== undefined) reply.header('retry-after', retryAfter ?? RETRY_AFTER);
  const body = errorBody(error);
  reply
    .header(REASON_HEADER, error.reason)
    .header('x-request-id', request.id)
    // A cache may keep a 404 (RFC 9110, section 15.1) for longer than it is true.
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff')
    .header('content-length', Buffer.byteLength(body))
    .code(error.status)
    .type(JSON_TYPE);
  reply.send(isUnread(request.raw) ? answerWhileReading(request.raw, body) : body);
}

function foreignError(thrown: unknown, { raw }: FastifyRequest): PlantStoreError | undefined {
  if (raw.errored !== null && thrown === raw.errored)
    return new PlantStoreError('CANCELLED', 'the client went away before its request was complete');
  const found = FOREIGN[(thrown as { code?: string } | undefined)?.code ?? ''];
  return found && new PlantStoreError(...found);
}
