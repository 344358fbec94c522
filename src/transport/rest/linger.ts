import type { IncomingMessage } from 'node:http';
import { finished, Readable } from 'node:stream';

/** Whether bytes of a request's body may still be on their way. */
export const isUnread = ({ headers, complete }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0);

/**
 * An answer that goes out at once, and ends when the request has been read to its end and thrown away. Ended before, the
 * connection could be closed and so reset under a client that still sends, which then never reads its answer. The server's
 * limit on the time of a request bounds it.
 */
export function answerWhileReading(request: IncomingMessage, text: string): Readable {
  const answer = new Readable({ read() {} });
  answer.push(text);
  finished(request, { writable: false }, () => answer.push(null));
  request.resume();
  return answer;
}
