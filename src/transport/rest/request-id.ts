import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** A request id of the client's that the log can hold as it is. */
const CLIENT_REQUEST_ID = /^[\w.-]{1,64}$/;

/** The id of a request: the client's `X-Request-Id` when it is short and plain, else a new one. */
export function requestId({ headers }: IncomingMessage): string {
  const id = headers['x-request-id'];
  return typeof id === 'string' && CLIENT_REQUEST_ID.test(id) ? id : randomUUID();
}
