import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { PlantStoreError } from '../../domain/errors.ts';
import { answerOn } from './closing.ts';
import { connectionOf } from './connection.ts';
import { errorBody, JSON_TYPE, REASON_HEADER } from './error-reply.ts';

/**
 * Milliseconds for a client that still sends to read its answer. Closing at once would reset the connection and lose
 * the answer.
 */
const LINGER = 1_000;

/** Answers bytes that Node's HTTP parser refused, if an answer can be read, and closes the connection. */
export function answerSocketError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET') socket.destroy(error);
  else refuse(socket, toPlantStoreError(error));
}

/** Answers CONNECT, whose target is never a path of the service, and closes the connection. For the `connect` event. */
export function refuseConnect(_request: unknown, socket: Duplex): void {
  const error = new PlantStoreError('MALFORMED_REQUEST', 'this service is not a proxy: it does not support CONNECT');
  refuse(socket as Socket, error);
}

/**
 * A client would take the error for a part of the answer that has begun, and for the answer to a complete request before
 * it, which is awaited only where refused bytes follow a body in chunks at once.
 */
function refuse(socket: Socket, error: PlantStoreError): void {
  connectionOf(socket).detach();
  const answer = answerOn(socket);
  if (answer?.headersSent === true || answer?.req.complete === true) socket.destroy(error);
  else if (socket.writable) endWith(socket, error);
}

function endWith(socket: Socket, error: PlantStoreError): void {
  const body = errorBody(error);
  socket.end(
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n` +
      `${REASON_HEADER}: ${error.reason}\r\n` +
      `Content-Type: ${JSON_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  setTimeout(() => socket.destroy(), LINGER).unref();
}

function toPlantStoreError({ code }: NodeJS.ErrnoException): PlantStoreError {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new PlantStoreError('REQUEST_TIMEOUT', 'the request took too long to arrive');
    case 'HPE_HEADER_OVERFLOW':
      // Node does not say whether the URL or a header was too long, and the bytes at hand need not show it: they are
      // the last packet alone. So both get one answer, that of an id which is too long to be one.
      return new PlantStoreError('MALFORMED_REQUEST', 'the URL and the headers may have at most 16 KiB together');
    default:
      return new PlantStoreError('MALFORMED_REQUEST', 'the request is not valid HTTP/1.1');
  }
}
