import type { DescService } from '@bufbuild/protobuf';
import type { FastifyInstance } from 'fastify';
import { withoutToken } from '../http/authentication.ts';
import { JSON_TYPE } from '../http/error-body.ts';
import { refuseOtherMethods } from '../http/methods.ts';
import { openApiDocument } from './document.ts';

const PATH = '/openapi.json';
const READ = ['GET', 'HEAD'];

/** Adds `/openapi.json`, which needs no token. The page `/docs` shows it. */
export function registerDocumentation(app: FastifyInstance, service: DescService): void {
  const text = Buffer.from(JSON.stringify(openApiDocument(service)));
  app.route({
    method: [...READ],
    url: PATH,
    onRequest: withoutToken,
    handler: (_request, reply) => reply.type(JSON_TYPE).send(text),
  });
  refuseOtherMethods(app, PATH, READ);
}
