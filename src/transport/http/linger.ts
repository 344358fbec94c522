import type { IncomingMessage } from 'node:http';
import { finished, Readable } from 'node:stream';

/** Whether bytes of a request's body may still be on their way. */
export const isUnread = ({ headers, complete }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0);

/** Milliseconds for which the rest of a request that is answered may be on its way. The connection is closed then. */
export const LINGER = 5_000;

/**
 * An answer that goes out at once, and ends when the request has been read to its end and thrown away. Ended before, the
 * connection could be closed and so reset under a client that still sends, which then never reads its answer.
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

/** Closes the connection of a request that is answered and did not come to its end. */
export function endUnlessComplete({ complete, socket }: IncomingMessage): void {
  if (!complete) socket.destroy();
}
