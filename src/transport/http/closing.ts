import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { answerOn } from './answer-on.ts';

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
