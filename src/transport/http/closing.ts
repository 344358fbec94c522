import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Duplex, finished, Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';

/** Milliseconds between two checks for idle connections once the app is closing. */
const IDLE_POLL = 50;
/**
 * Checks after which a connection that has sent nothing is closed. Node does not count it as idle. Browsers open such
 * spare connections.
 */
const SILENT_POLLS = 10;

/** Ends the connections of an app when it closes: each after its last answer, which announces it, and idle ones. */
export function endConnectionsOf(app: FastifyInstance): void {
  const connections = new Set<Socket>();
  app.server.on('connection', (socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  app.addHook('preClose', async () => {
    for (const socket of connections) {
      const answer = answerOn(socket);
      if (answer?.headersSent === false) answer.setHeader('connection', 'close');
    }
    let polls = 0;
    const poll = setInterval(() => {
      app.server.closeIdleConnections();
      if (++polls < SILENT_POLLS) return;
      for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
    }, IDLE_POLL);
    app.server.once('close', () => clearInterval(poll));
  });
}

/**
 * The response that is being sent or awaited on a connection. Undefined: the connection has no request. Node's own
 * handlers of errors and time-outs use the same property.
 */
export const answerOn = (socket: Duplex): ServerResponse | undefined =>
  (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;

/** Whether a request has a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0;

/** Whether bytes of a request's body may still arrive. */
export const isUnread = (request: IncomingMessage): boolean => !request.complete && hasBody(request);

/** Milliseconds for the rest of an answered request to arrive. The connection is then closed. */
export const LINGER = 5_000;

/**
 * A response body that is sent at once and ends when the request is completely read and discarded. If it ended earlier,
 * the connection could be closed and reset while the client still sends, and the client would lose the answer.
 */
export function answerWhileReading(request: IncomingMessage, text: string): Readable {
  const answer = new Readable({ read() {} });
  answer.push(text);
  const timer = setTimeout(endUnlessComplete, LINGER, request).unref();
  finished(request, { writable: false }, () => {
    clearTimeout(timer);
    answer.push(null);
  });
  request.resume();
  return answer;
}

/** Closes the connection of an answered request that is incomplete. */
export function endUnlessComplete({ complete, socket }: IncomingMessage): void {
  if (!complete) socket.destroy();
}
