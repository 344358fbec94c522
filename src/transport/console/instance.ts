import type { FastifyInstance } from 'fastify';
import type { ScopePolicy } from '../../auth/scopes.ts';
import { type Authenticate, authentication, takePermit } from '../http/authentication.ts';
import { JSON_TYPE } from '../http/error-body.ts';
import { refuseOtherMethods } from '../http/methods.ts';

const READ = ['GET', 'HEAD'];
const PATH = '/console/instance';

/** Who may read the instance's state, and its report. */
export interface InstanceOptions {
  readonly authenticate: Authenticate;
  readonly scopes: ScopePolicy;
  readonly report: () => object;
}

/**
 * Adds `/console/instance`: the state of the instance that answers. It needs a token with `plants:audit` and reads
 * nothing from the store.
 */
export function registerInstance(app: FastifyInstance, { authenticate, scopes, report }: InstanceOptions): void {
  app.route({
    method: [...READ],
    url: PATH,
    onRequest: authentication(authenticate),
    preHandler: takePermit,
    handler: (request, reply) => {
      scopes.require(request.principal!, 'plants:audit');
      reply.type(JSON_TYPE).header('cache-control', 'no-store').send(JSON.stringify(report()));
    },
  });
  refuseOtherMethods(app, PATH, READ);
}
