import type { FastifyInstance } from 'fastify';
import type { JSONWebKeySet } from 'jose';
import { refuseOtherMethods } from './methods.ts';

const PATH = '/.well-known/plantstore-audit-keys';
const READ = ['GET', 'HEAD'];

/** Adds the JWKS (RFC 7517, section 5) of the keys that signed heads of the log, with or without any. It needs no token. */
export function registerAuditKeys(app: FastifyInstance, keys: () => Promise<JSONWebKeySet>): void {
  app.route({
    method: [...READ],
    url: PATH,
    handler: async (_request, reply) =>
      reply
        // Bytes: to text Fastify would add a charset, which the type does not have.
        .type('application/jwk-set+json')
        // A key that signs from now on is in the next answer.
        .header('cache-control', 'public, no-cache')
        .send(Buffer.from(JSON.stringify(await keys()))),
  });
  refuseOtherMethods(app, PATH, READ);
}
