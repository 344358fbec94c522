import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Admission } from '../admission/admission.ts';
import { answerOn } from './answer-on.ts';
import { HttpEntrant } from './entrant.ts';
import { mayFollow } from './pipelining.ts';

/** Milliseconds between two looks for connections that became idle after the app began to close. */
const IDLE_POLL = 50;
/** Looks after which a connection that has sent nothing at all is closed: to Node, it is not idle. Browsers open such, to spare. */
const SILENT_POLLS = 10;

/**
 * Stands before all routes: a request is let in by the admission, or refused with OVERLOADED before anything is done for it, the
 * framework's own work included, which costs more than half of a small request.
 * While the service drains, and once the app closes, answers say that their connection ends (RFC 9112, section 9.6), so that no
 * client sends another request on it; connections on which nothing is going on are closed.
 */
export class Guard {
  readonly #admission: Admission;
  readonly #isDraining: () => boolean;
  /**
   * Of connections and not of requests: V8 keeps the tables that a set outgrows, with all that was in them, until it collects the old
   * generation. With one for each request, a quarter of all memory that requests took lived as long.
   */
  readonly #connections = new Set<Socket>();

  constructor(admission: Admission, isDraining: () => boolean) {
    this.#admission = admission;
    this.#isDraining = isDraining;
  }

  /** What serves the requests that are let in, guarded. */
  around(serve: RequestListener): RequestListener {
    return (request, response) => {
      if (mayFollow(response, request.socket))
        this.#admission.enter(new HttpEntrant(request, response, serve, this.#isDraining));
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
