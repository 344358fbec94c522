import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { PlantStoreError } from '../../domain/errors.ts';
import { answerOn } from './answer-on.ts';
import { errorBody, JSON_TYPE, REASON_HEADER } from './error-body.ts';

/**
 * Milliseconds for a client that still sends to read its answer. Closing at once would reset the connection and lose
 * the answer.
 */
const LINGER = 1_000;

/** Node's error for bytes that are not a request. */
interface ClientError extends Error {
  readonly code?: string;
  /** The last bytes read from the socket, a Buffer, and how many of them were parsed. */
  readonly rawPacket?: unknown;
  readonly bytesParsed?: number;
}

/**
 * Answers bytes that Node's HTTP parser refused, if an answer can be read, and closes the connection. For the
 * `clientError` event.
 */
export function answerSocketError(error: ClientError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable || answerBegun(socket)) {
    if (!socket.writableEnded) socket.destroy(error);
    return;
  }
  endWith(socket, toPlantStoreError(error));
}

/** Answers CONNECT, whose target is never a path of the service, and closes the connection. For the `connect` event. */
export const refuseConnect = (_request: unknown, socket: Duplex): void =>
  endWith(socket, new PlantStoreError('MALFORMED_REQUEST', 'CONNECT is for proxies, and this is none'));

function endWith(socket: Duplex, error: PlantStoreError): void {
  const body = errorBody(error);
  socket.end(
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n` +
      `${REASON_HEADER}: ${error.reason}\r\n` +
      `Content-Type: ${JSON_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  setTimeout(() => socket.destroy(), LINGER).unref();
}

/** Whether part of a response has been sent. A client would take an error for a part of that response. */
const answerBegun = (socket: Socket): boolean => answerOn(socket)?.headersSent === true;

function toPlantStoreError(error: ClientError): PlantStoreError {
  switch (error.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new PlantStoreError('REQUEST_TIMEOUT', 'the request took too long to arrive');
    case 'HPE_HEADER_OVERFLOW':
      return requestLineEnded(error)
        ? new PlantStoreError('HEADERS_TOO_LARGE', 'the headers are too large')
        : new PlantStoreError('MALFORMED_REQUEST', 'the URL or a header is too long');
    default:
      return new PlantStoreError('MALFORMED_REQUEST', 'the request is not valid HTTP/1.1');
  }
}

/** Whether the bytes before the overflow show that the URL had ended. A long line may have begun in earlier bytes. */
const requestLineEnded = ({ rawPacket, bytesParsed }: ClientError): boolean =>
  Buffer.isBuffer(rawPacket) && rawPacket.subarray(0, bytesParsed).includes('\n');
