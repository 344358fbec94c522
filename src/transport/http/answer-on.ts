import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * The response that is being sent or awaited on a connection. Undefined: the connection has no request. Node's own
 * handlers of errors and time-outs use the same property.
 */
export const answerOn = (socket: Duplex): ServerResponse | undefined =>
  (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
