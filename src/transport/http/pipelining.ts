import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { answerOn } from './answer-on.ts';

/** The last response of each connection that had pipelined requests. */
const last = new WeakMap<Socket, ServerResponse>();
/** Connections with a response that lasts as long as its client likes. */
const lasting = new WeakSet<Socket>();

/**
 * Call it for each request before it is served. A request behind a lasting response would wait as long and hold a
 * place: then it returns false and ends the connection.
 */
export function mayFollow(response: ServerResponse, socket: Socket): boolean {
  if (answerOn(socket) === response) return true;
  if (lasting.has(socket)) {
    socket.destroy();
    return false;
  }
  last.set(socket, response);
  return true;
}

/**
 * Marks a response that lasts as long as its client likes. Its connection serves nothing else, and ends if other
 * requests already wait behind it.
 */
export function lastAlone(response: ServerResponse, socket: Socket): void {
  const behind = last.get(socket);
  if (behind !== undefined && behind !== response && !behind.closed) socket.destroy();
  else lasting.add(socket);
  response.on('close', () => lasting.delete(socket));
}
