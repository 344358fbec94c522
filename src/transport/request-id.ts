import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** A request id of the client's that the log can hold as it is. */
const CLIENT_REQUEST_ID = /^[\w.-]{1,64}$/;

/** The id of a request: what the client asks for when it is short and plain, else a new one. */
export const requestIdOf = (asked: unknown): string =>
  typeof asked === 'string' && CLIENT_REQUEST_ID.test(asked) ? asked : randomUUID();

/** The id of an HTTP request, which its client may give as `X-Request-Id`. */
export const requestId = ({ headers }: IncomingMessage): string => requestIdOf(headers['x-request-id']);
