import { METHODS } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod, RouteShorthandOptions } from 'fastify';
import { PlantStoreError } from '../../domain/errors.ts';
import { WITHOUT_TOKEN } from './authentication.ts';

/** Makes an app route every method that Node's parser knows, so that no method of a known path gets 404. */
export function routeAllMethods(app: FastifyInstance): void {
  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
}

const CHOICE = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/** Refuses all other methods of a path with 405 and `Allow` (RFC 9110, section 15.5.6), before it asks who calls. */
export function refuseOtherMethods(app: FastifyInstance, url: string, allowed: readonly string[]): void {
  const allow = allowed.join(', ');
  const refuse = (_request: FastifyRequest, reply: FastifyReply) => {
    reply.header('allow', allow);
    throw new PlantStoreError('METHOD_NOT_ALLOWED', `use ${CHOICE.format(allowed)}`);
  };
  app.route({
    method: METHODS.filter((method) => !allowed.includes(method)),
    url,
    onRequest: refuse,
    handler: refuse,
  });
}

const READ = ['GET', 'HEAD'];

/** Adds a path that can be read and nothing else. It needs no token unless the hooks ask for one. */
export function addResource(
  app: FastifyInstance,
  url: string,
  handler: RouteHandlerMethod,
  hooks: Pick<RouteShorthandOptions, 'onRequest' | 'preHandler' | 'onSend'> = WITHOUT_TOKEN,
): void {
  app.route({ method: [...READ], url, ...hooks, handler });
  refuseOtherMethods(app, url, READ);
}
