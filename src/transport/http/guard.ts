import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Admission } from '../admission/admission.ts';
import { answerOn } from './answer-on.ts';
import { HttpEntrant } from './entrant.ts';
import { enterInTurn } from './pipelining.ts';

/** Milliseconds between two checks for idle connections once the app is closing. */
const IDLE_POLL = 50;
/**
 * Checks after which a connection that has sent nothing is closed. Node does not count it as idle. Browsers open such
 * spare connections.
 */
const SILENT_POLLS = 10;

/**
 * Stands before all routes. Admission lets a request in, or refuses it with OVERLOADED before any work for it. The
 * framework's own work would cost more than half of a small request.
 *
 * While the service drains, and once the app closes, responses announce the end of their connection (RFC 9112, section
 * 9.6), so that no client sends another request on it. Idle connections are closed.
 */
export class Guard {
  readonly #admission: Admission;
  readonly #isDraining: () => boolean;
  /**
   * A set of connections, not of requests. V8 keeps the tables that a set outgrows, with their contents, until it
   * collects the old generation. With an entry for each request, a quarter of all request memory lived that long.
   */
  readonly #connections = new Set<Socket>();

  constructor(admission: Admission, isDraining: () => boolean) {
    this.#admission = admission;
    this.#isDraining = isDraining;
  }

  /** Guards the listener that serves admitted requests. */
  around(serve: RequestListener): RequestListener {
    return (request, response) => {
      enterInTurn(this.#admission, new HttpEntrant(request, response, serve, this.#isDraining), response);
    };
  }

  /** Ends the connections of an app when it closes. */
  endConnectionsOf(app: FastifyInstance): void {
    app.server.on('connection', (socket) => {
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
    });
    app.addHook('preClose', async () => {
      for (const socket of this.#connections) {
        const answer = answerOn(socket);
        if (answer?.headersSent === false) answer.setHeader('connection', 'close');
      }
      let polls = 0;
      const poll = setInterval(() => {
        app.server.closeIdleConnections();
        if (++polls >= SILENT_POLLS) this.#closeSilent();
      }, IDLE_POLL);
      app.server.once('close', () => clearInterval(poll));
    });
  }

  #closeSilent(): void {
    for (const socket of this.#connections) if (socket.bytesRead === 0) socket.destroy();
  }
}
