import type { DescService } from '@bufbuild/protobuf';
import type { StaticDocumentSpec } from '@fastify/swagger';
import Fastify, { type FastifyInstance, LogController, type RouteHandlerMethod } from 'fastify';
import { PlantStoreError } from '../../domain/errors.ts';
import { withoutToken } from '../http/authentication.ts';
import { JSON_TYPE } from '../http/error-body.ts';
import { sendError } from '../http/error-reply.ts';
import { refuseOtherMethods } from '../http/methods.ts';
import { requestId } from '../request-id.ts';
import { openApiDocument } from './document.ts';

const READ = ['GET', 'HEAD'];

/** The page may load only what this service serves. Swagger UI uses inline styles. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Adds `/openapi.json`, and `/docs` to read it and try it out. Neither needs a token. */
export function registerDocumentation(app: FastifyInstance, service: DescService): void {
  const document = openApiDocument(service);
  const text = Buffer.from(JSON.stringify(document));
  addPage(app, '/openapi.json', (_request, reply) => reply.type(JSON_TYPE).send(text));

  // Loaded at the first request: it takes longer to load than the rest of the transport together.
  let pages: Promise<FastifyInstance> | undefined;
  const show: RouteHandlerMethod = async (request, reply) => {
    pages ??= openPages(app, document);
    const { routing } = await pages;
    reply.hijack();
    routing(request.raw, reply.raw);
  };
  addPage(app, '/docs', show);
  addPage(app, '/docs/*', show);
}

function addPage(app: FastifyInstance, url: string, handler: RouteHandlerMethod): void {
  app.route({
    method: [...READ],
    url,
    onRequest: withoutToken,
    handler,
  });
  refuseOtherMethods(app, url, READ);
}

/** Swagger UI from node_modules, in an app of its own that never listens. */
async function openPages(parent: FastifyInstance, document: object): Promise<FastifyInstance> {
  const pages = Fastify({
    loggerInstance: parent.log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: requestId,
  });
  pages.addHook('onRequest', async (_request, reply) => void reply.header('x-content-type-options', 'nosniff'));
  pages.setErrorHandler(sendError);
  pages.setNotFoundHandler(() => {
    throw new PlantStoreError('ROUTE_NOT_FOUND', 'there is nothing at this path; see /docs');
  });
  await pages.register(import('@fastify/swagger'), {
    mode: 'static',
    specification: { document: document as StaticDocumentSpec['document'] },
  });
  await pages.register(import('@fastify/swagger-ui'), {
    routePrefix: '/docs',
    staticCSP: CONTENT_SECURITY_POLICY,
    theme: { title: 'Plant Store' },
    uiConfig: { layout: 'BaseLayout', displayRequestDuration: true },
  });
  await pages.ready();
  return pages;
}
