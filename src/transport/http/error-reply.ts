import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PlantStoreError, type Reason, toPlantStoreError } from '../../domain/errors.ts';
import { type EndedRequest, UNMATCHED } from '../../observe/request.ts';
import type { RequestObserver } from '../../observe/telemetry.ts';
import { logFailure } from '../failure.ts';
import { answerOn, connectionOf } from './connection.ts';

/** Content type of every JSON response. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/** The Error of the REST contract, as JSON. */
export const errorBody = (error: PlantStoreError): string =>
  JSON.stringify({ error: error.code, message: error.message });

/** Response header of every failure: the stable reason of gRPC's ErrorInfo. */
const REASON_HEADER = 'plantstore-reason';

/** Failures of Fastify and its plugins, by their `code`. */
const FOREIGN: Readonly<Record<string, readonly [Reason, string]>> = {
  FST_ERR_BAD_URL: ['MALFORMED_REQUEST', 'the path must be percent-encoded UTF-8'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['UNSUPPORTED_MEDIA_TYPE', 'send the body as application/json'],
  FST_STATIC_FORBIDDEN_PATH: ['ROUTE_NOT_FOUND', 'unknown path'],
  BadRequestError: ['ROUTE_NOT_FOUND', 'unknown path'],
  PreconditionFailedError: ['MALFORMED_REQUEST', 'send neither If-Match nor If-Unmodified-Since'],
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
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
  // RFC 9110, section 15.5.16.
  if (error.status === 415 && request.headers['content-encoding'] !== undefined)
    reply.header('accept-encoding', 'identity');
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
  reply.send(body);
}

function foreignError(thrown: unknown, { raw }: FastifyRequest): PlantStoreError | undefined {
  if (raw.errored !== null && thrown === raw.errored)
    return new PlantStoreError('CANCELLED', 'the client went away before its request was complete');
  const { code, name } = (thrown ?? {}) as { code?: string; name?: string };
  // Before the first byte of a long list.
  if (code === 'ERR_STREAM_PREMATURE_CLOSE' && raw.socket.destroyed)
    return new PlantStoreError('CANCELLED', 'the client went away before its answer began');
  const found = FOREIGN[code ?? name ?? ''];
  return found && new PlantStoreError(...found);
}

/** Milliseconds for a client that still sends to read its answer, which closing at once would lose. */
const READ_GRACE = 1_000;

/** The parser's error of a request whose client has ended its side before the request was whole. */
const CUT_SHORT = 'HPE_INVALID_EOF_STATE';

/** Answers bytes that Node's HTTP parser refused, if an answer can be read, and closes the connection. */
export function answerSocketError(error: NodeJS.ErrnoException, socket: Socket, observer?: RequestObserver): void {
  if (error.code === 'ECONNRESET') socket.destroy(error);
  else refuse(socket, errorOfParser(error), observer, error.code === CUT_SHORT);
}

/** Answers CONNECT, whose target is never a path of the service, and closes the connection. For the `connect` event. */
export function refuseConnect(socket: Duplex, observer?: RequestObserver): void {
  const error = new PlantStoreError('MALFORMED_REQUEST', 'this service is not a proxy: it does not support CONNECT');
  refuse(socket as Socket, error, observer);
}

/**
 * A client would take the error for a part of the answer that has begun, for a second answer where the first came
 * before the request was whole, and for the answer to a complete request before it, which is awaited only where refused
 * bytes follow a body in chunks at once.
 */
function refuse(socket: Socket, error: PlantStoreError, observer?: RequestObserver, isCutShort = false): void {
  const connection = connectionOf(socket);
  connection.detach();
  const answer = answerOn(socket);
  if (connection.awaitsRest || answer?.headersSent === true || answer?.req.complete === true) socket.destroy(error);
  else if (socket.writable) {
    // A request that is being served is reported at its end, and one that was cut short as given up by its client.
    if (answer !== undefined && !isCutShort) connection.refusal = error;
    const requestId = answer === undefined ? randomUUID() : connection.requestId;
    if (answer === undefined && socket.bytesRead > 0) observer?.ended(unparsed(error, requestId));
    endWith(socket, error, requestId);
  }
}

/** A request of which the parser made none. How long it took, and what it would have been, is not known. */
const unparsed = (failure: PlantStoreError, requestId: string): EndedRequest => ({
  ...{ protocol: 'rest', method: '_OTHER', route: UNMATCHED, status: String(failure.status) },
  ...{ seconds: 0, bytes: 0, requestId, principal: undefined, failure, traceId: undefined },
});

function endWith(socket: Socket, error: PlantStoreError, requestId: string): void {
  const body = errorBody(error);
  socket.end(
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n` +
      `${REASON_HEADER}: ${error.reason}\r\nX-Request-Id: ${requestId}\r\n` +
      'Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n' +
      `Content-Type: ${JSON_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  setTimeout(() => socket.destroy(), READ_GRACE).unref();
}

function errorOfParser({ code }: NodeJS.ErrnoException): PlantStoreError {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new PlantStoreError('REQUEST_TIMEOUT', 'the request took too long to arrive');
    case 'HPE_HEADER_OVERFLOW':
      // Node does not say whether the URL or a header was too long, or there were too many, and the bytes at hand need
      // not show it: they are the last packet alone. So all of them get the same answer, as does an id that is too
      // long.
      return new PlantStoreError(
        'MALFORMED_REQUEST',
        'the URL and the headers may have at most 16 KiB together, and fewer than 128 lines',
      );
    case 'HPE_INVALID_METHOD':
      return new PlantStoreError('MALFORMED_REQUEST', 'the request does not begin with a method of HTTP, such as GET');
    default:
      return new PlantStoreError('MALFORMED_REQUEST', 'the request is not valid HTTP/1.1');
  }
}
