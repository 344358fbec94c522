import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { answerOn } from './answer-on.ts';

/** The last answer of each connection on which requests came before those in front of them were answered. */
const last = new WeakMap<Socket, ServerResponse>();
/** Connections of an answer that lasts as long as its client likes. */
const lasting = new WeakSet<Socket>();

/**
 * To be called for each request before it is served. Returns false when it came behind an answer that lasts, and ends the connection:
 * its own answer would wait as long, and hold a place.
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

/** An answer lasts as long as its client likes: from now on its connection is for nothing else, and ends if others wait behind it. */
export function lastAlone(response: ServerResponse, socket: Socket): void {
  const behind = last.get(socket);
  if (behind !== undefined && behind !== response && !behind.closed) socket.destroy();
  else lasting.add(socket);
  response.on('close', () => lasting.delete(socket));
}
