import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Duplex, finished, Readable } from 'node:stream';

/**
 * The response that is being sent or awaited on a connection. Undefined: the connection has no request. Node's own
 * handlers of errors and time-outs use the same property.
 */
export const answerOn = (socket: Duplex): ServerResponse | undefined =>
  (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;

/** Whether a request has a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0;

/** Whether bytes of a request's body may still arrive. */
export const isUnread = (request: IncomingMessage): boolean => !request.complete && hasBody(request);

/** Milliseconds for the rest of an answered request to arrive. The connection is then closed. */
export const LINGER = 5_000;

/**
 * A response body that is sent at once and ends when the request is completely read and discarded. If it ended earlier,
 * the connection could be closed and reset while the client still sends, and the client would lose the answer.
 */
export function answerWhileReading(request: IncomingMessage, text: string): Readable {
  const answer = new Readable({ read() {} });
  answer.push(text);
  const timer = setTimeout(endUnlessComplete, LINGER, request).unref();
  finished(request, { writable: false }, () => {
    clearTimeout(timer);
    answer.push(null);
  });
  request.resume();
  return answer;
}

/** Closes the connection of an answered request that is incomplete. */
export function endUnlessComplete({ complete, socket }: IncomingMessage): void {
  if (!complete) socket.destroy();
}
