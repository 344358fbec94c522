import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** A client's request id that can be logged as it is. */
const CLIENT_REQUEST_ID = /^[\w.-]{1,64}$/;

/** The id of a request: the client's if it is short and plain, otherwise a new one. */
export const requestIdOf = (asked: unknown): string =>
  typeof asked === 'string' && CLIENT_REQUEST_ID.test(asked) ? asked : randomUUID();

/** The id of an HTTP request. The client may set it as `X-Request-Id`. */
export const requestId = ({ headers }: IncomingMessage): string => requestIdOf(headers['x-request-id']);
