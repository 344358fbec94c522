import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Admission } from '../admission.ts';

/** Milliseconds between two looks for connections that became idle after the app began to close. */
const IDLE_POLL = 50;

/**
 * Guards every route of an app: a request is let in by the admission, before its token is looked at, or refused with OVERLOADED.
 * While the service drains, and once the app closes, answers say that their connection ends (RFC 9112, section 9.6), so that no
 * client sends another request on it; connections on which nothing is going on are closed.
 */
export function guard(app: FastifyInstance, admission: Admission, isDraining: () => boolean): void {
  const open = new Set<ServerResponse>();
  app.addHook('onRequest', (_request, { raw }, next) => {
    const place = admission.enter();
    if (isDraining()) raw.setHeader('connection', 'close');
    open.add(raw);
    raw.once('close', () => {
      place[Symbol.dispose]();
      open.delete(raw);
    });
    next();
  });
  app.addHook('preClose', async () => {
    for (const response of open) if (!response.headersSent) response.setHeader('connection', 'close');
    const poll = setInterval(() => app.server.closeIdleConnections(), IDLE_POLL);
    app.server.once('close', () => clearInterval(poll));
  });
}
