import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The response that is being sent or awaited on a connection. Undefined: the connection has no request. Node's own
 * handlers of errors and time-outs use the same property.
 */
export const answerOn = (socket: Socket): ServerResponse | undefined =>
  (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
