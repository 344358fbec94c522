import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { PlantStoreError } from '../../domain/errors.ts';
import { answerOn } from './closing.ts';
import { connectionOf } from './connection.ts';
import { errorBody, JSON_TYPE, REASON_HEADER } from './error-body.ts';

/**
 * Milliseconds for a client that still sends to read its answer. Closing at once would reset the connection and lose
 * the answer.
 */
const LINGER = 1_000;

/** Connections whose last answer is an error that waits for the answers before it. */
const refused = new WeakSet<Socket>();

/**
 * Answers bytes that Node's HTTP parser refused, if an answer can be read, and closes the connection. For the
 * `clientError` event, which Node emits again for each further packet.
 */
export function answerSocketError(error: NodeJS.ErrnoException, socket: Socket): void {
  connectionOf(socket)?.detach();
  if (error.code === 'ECONNRESET' || !socket.writable) {
    if (!socket.writableEnded) socket.destroy(error);
    return;
  }
  if (refused.has(socket)) return;
  refused.add(socket);
  afterAnswers(socket, () => {
    // A client would take an error for a part of the answer that has begun.
    if (!socket.writable || answerOn(socket)?.headersSent === true) socket.destroy(error);
    else endWith(socket, toPlantStoreError(error));
  });
}

/** Answers CONNECT, whose target is never a path of the service, and closes the connection. For the `connect` event. */
export function refuseConnect(_request: unknown, socket: Duplex): void {
  connectionOf(socket as Socket)?.detach();
  const error = new PlantStoreError('MALFORMED_REQUEST', 'this service is not a proxy: it does not support CONNECT');
  afterAnswers(socket, () => endWith(socket, error));
}

/**
 * Calls `next` once the requests that have arrived completely are answered: answers come in the order of the requests
 * (RFC 9112, section 9.3.2). The refused bytes belong to a later request, or to one that has arrived in part.
 */
function afterAnswers(socket: Duplex, next: () => void): void {
  const answer = answerOn(socket);
  if (answer?.req.complete === true) answer.once('close', () => afterAnswers(socket, next));
  else next();
}

function endWith(socket: Duplex, error: PlantStoreError): void {
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
