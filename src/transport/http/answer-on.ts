import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The answer that goes out on a connection, or is waited for; undefined when there is no request on it. Node's own handlers of
 * errors and time-outs look here too.
 */
export const answerOn = (socket: Socket): ServerResponse | undefined =>
  (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
