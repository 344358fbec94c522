import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { toPlantStoreError } from '../../domain/errors.ts';
import type { Admission } from '../admission.ts';
import { errorBody, JSON_TYPE } from './error-reply.ts';

/** Milliseconds between two looks for connections that became idle after the app began to close. */
const IDLE_POLL = 50;

/**
 * Stands before all routes: a request is let in by the admission, or refused with OVERLOADED before anything is done for it, the
 * framework's own work included, which costs more than half of a small request.
 * While the service drains, and once the app closes, answers say that their connection ends (RFC 9112, section 9.6), so that no
 * client sends another request on it; connections on which nothing is going on are closed.
 */
export class Guard {
  readonly #admission: Admission;
  readonly #isDraining: () => boolean;
  readonly #open = new Set<ServerResponse>();

  constructor(admission: Admission, isDraining: () => boolean) {
    this.#admission = admission;
    this.#isDraining = isDraining;
  }

  /** What serves the requests that are let in, guarded. */
  around(serve: RequestListener): RequestListener {
    return (request, response) => {
      if (this.#isDraining()) response.setHeader('connection', 'close');
      if (this.#admit(response)) serve(request, response);
    };
  }

  /** Ends the connections of an app when it closes. */
  endConnectionsOf(app: FastifyInstance): void {
    app.addHook('preClose', async () => {
      for (const response of this.#open) if (!response.headersSent) response.setHeader('connection', 'close');
      const poll = setInterval(() => app.server.closeIdleConnections(), IDLE_POLL);
      app.server.once('close', () => clearInterval(poll));
    });
  }

  #admit(response: ServerResponse<IncomingMessage>): boolean {
    try {
      const place = this.#admission.enter();
      this.#open.add(response);
      response.once('close', () => {
        place[Symbol.dispose]();
        this.#open.delete(response);
      });
      return true;
    } catch (thrown) {
      refuse(response, thrown);
      return false;
    }
  }
}

function refuse(response: ServerResponse, thrown: unknown): void {
  const error = toPlantStoreError(thrown);
  const body = errorBody(error);
  response.writeHead(error.status, {
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(body),
    'retry-after': String(error.details.retryAfter),
  });
  response.end(body);
}
