import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { answerOn } from './answer-on.ts';

/** Most requests of one connection that wait for their turn: each may hold 32 KiB of headers. */
const MAX_WAITING = 64;
/** The methods that change nothing (RFC 9110, section 9.2.1). */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/** Where requests go once they may be served, or because they may not even wait. */
export interface Gate<Entrant> {
  enter(entrant: Entrant): void;
  refuse(entrant: Entrant): void;
}

/** What stands behind the first unanswered request of a connection. */
interface Line {
  last: ServerResponse;
  /** Requests that wait for their turn: the hindmost ones, since all that comes behind a waiting one waits too. */
  waiting: number;
}

/** The line of each connection that had pipelined requests. */
const lines = new WeakMap<Socket, Line>();
/** Connections with a response that lasts as long as its client likes. */
const lasting = new WeakSet<Socket>();

/**
 * Lets a request enter when its turn has come. Requests of one connection are served side by side only while all of
 * them are safe (RFC 9112, section 9.3.2). Any other one enters once all before it are answered; if one of those ends
 * the connection, never.
 *
 * A request behind a lasting response would wait as long: that ends the connection.
 */
export function enterInTurn<Entrant>(gate: Gate<Entrant>, entrant: Entrant, response: ServerResponse): void {
  const { socket } = response.req;
  const first = answerOn(socket)!;
  if (first === response) gate.enter(entrant);
  else if (lastsOn(socket)) socket.destroy();
  else {
    const line = lineBefore(response, socket);
    if (line.waiting === 0 && isSafe(response) && isSafe(first)) gate.enter(entrant);
    else if (line.waiting >= MAX_WAITING) gate.refuse(entrant);
    else waitIn(line, response, () => gate.enter(entrant));
  }
}

/** The line of a connection, of which this response is now the last. */
function lineBefore(response: ServerResponse, socket: Socket): Line {
  const line = lines.get(socket) ?? { last: response, waiting: 0 };
  line.last = response;
  lines.set(socket, line);
  return line;
}

/** Calls `enter` when all answers before the response are sent. Node then gives it the socket. */
function waitIn(line: Line, response: ServerResponse, enter: () => void): void {
  line.waiting++;
  response.once('socket', (socket) => {
    line.waiting--;
    // The answer before it gives its place back in this tick.
    process.nextTick(() => {
      if (!socket.destroyed) enter();
    });
  });
}

const isSafe = ({ req }: ServerResponse): boolean => SAFE.has(req.method!);

/** Whether a response that lasts as long as its client likes is being sent on a connection. */
export const lastsOn = (socket: Socket): boolean => lasting.has(socket);

/**
 * Marks a response that lasts as long as its client likes. Its connection serves nothing else, and ends if other
 * requests already wait behind it.
 */
export function lastAlone(response: ServerResponse, socket: Socket): void {
  const behind = lines.get(socket)?.last;
  if (behind !== undefined && behind !== response && !behind.closed) socket.destroy();
  else lasting.add(socket);
  response.on('close', () => lasting.delete(socket));
}
