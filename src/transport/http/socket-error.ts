import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { PlantStoreError } from '../../domain/errors.ts';
import { answerOn } from './answer-on.ts';
import { errorBody, JSON_TYPE, REASON_HEADER } from './error-body.ts';

/** Milliseconds for which a client that still sends may read its answer; a connection closed at once would be reset, and the answer lost. */
const LINGER = 1_000;

/** What Node says of bytes that are no request. */
interface ClientError extends Error {
  readonly code?: string;
  /** The last bytes read from the socket, a Buffer, and how many of them were understood. */
  readonly rawPacket?: unknown;
  readonly bytesParsed?: number;
}

/** Answers, where an answer can be read, what Node's HTTP parser refused, and closes the connection. For the `clientError` event. */
export function answerSocketError(error: ClientError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable || answerBegun(socket)) {
    if (!socket.writableEnded) socket.destroy(error);
    return;
  }
  endWith(socket, toPlantStoreError(error));
}

/** Answers CONNECT, whose target is no path of ours, and closes the connection. For the `connect` event. */
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

/** Whether bytes of an answer are on their way, after which an error would be taken for a part of it. */
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

/** Whether the bytes up to the overflow show that the URL had ended before. A long line may have begun in bytes that are gone. */
const requestLineEnded = ({ rawPacket, bytesParsed }: ClientError): boolean =>
  Buffer.isBuffer(rawPacket) && rawPacket.subarray(0, bytesParsed).includes('\n');
