import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import type { Authenticate } from '../../auth/authenticator.ts';
import type { ScopePolicy } from '../../auth/principal.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import { authentication, takePermit, WITHOUT_TOKEN } from '../http/authentication.ts';
import { JSON_TYPE } from '../http/error-reply.ts';
import { entityTag, IMMUTABLE, isUnmodified, prefers, varyBy } from '../http/headers.ts';
import { addResource } from '../http/methods.ts';

/** Output folder of `npm run console`. */
const BUILT = fileURLToPath(new URL('../../../console/dist/', import.meta.url));

/** What `npm run generate` makes of the proto files. */
const OPENAPI = new URL('../../../gen/openapi.json', import.meta.url);

/** A page runs only its own script, and calls only this service. */
const OWN_ONLY = [
  "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:",
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
].join('; ');

/** The console never turns text into markup. */
const CONTENT_SECURITY_POLICY = `${OWN_ONLY}; style-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'`;

/** The viewer of /docs writes markup, and styles into it. */
const CONTENT_SECURITY_POLICY_OF_DOCS = `${OWN_ONLY}; style-src 'self' 'unsafe-inline'`;

const HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
};

/** Beside each file stand its compressed forms. */
const FILES = { serve: false, preCompressed: true, cacheControl: false, acceptRanges: false, lastModified: false };

/** What the console needs before sign-in. */
export interface ConsoleSettings {
  /** The claim of a token that names the owner. */
  readonly ownerClaim: string;
  /** Scopes that are enforced in addition to the permanent ones. */
  readonly requiredScopes: readonly string[];
  readonly publicLog: boolean;
}

/**
 * Adds the pages `/console`, for people to inspect the service, to which `/` leads, and `/docs`, to read
 * `/openapi.json`, which it adds too, and try it out. None of them needs a token; their data does. `folder` has the
 * built pages; what is built later is served, too.
 */
export function registerConsole(app: FastifyInstance, settings: ConsoleSettings, folder: string = BUILT): void {
  const { ownerClaim, requiredScopes, publicLog } = settings;
  const shown = JSON.stringify({ ownerClaim, requiredScopes, publicLog });
  const openApi = readFileSync(OPENAPI);
  const etag = entityTag(openApi.toString());
  addResource(app, '/openapi.json', ({ headers }, reply) => {
    reply.headers({ etag, 'cache-control': 'no-cache' });
    if (isUnmodified(headers['if-none-match'], etag)) reply.code(304).send();
    else reply.type(JSON_TYPE).send(openApi);
  });
  addFrontPage(app);
  app.register(async (pages) => {
    await pages.register(fastifyStatic, { ...FILES, root: folder });
    pages.setNotFoundHandler(({ url }) => {
      throw new PlantStoreError(
        'ROUTE_NOT_FOUND',
        url.startsWith('/console/assets/')
          ? 'the file does not exist; reload the page'
          : 'this page is not built; build it with npm run console',
      );
    });
    const addPage = (url: string, file: string, policy: string): void => {
      const show: RouteHandlerMethod = (_request, reply) =>
        reply.headers({ ...HEADERS, 'content-security-policy': policy, 'cache-control': 'no-cache' }).sendFile(file);
      addResource(pages, url, show);
      addResource(pages, `${url}/`, show);
    };
    addPage('/console', 'index.html', CONTENT_SECURITY_POLICY);
    addPage('/docs', 'docs.html', CONTENT_SECURITY_POLICY_OF_DOCS);
    addResource(pages, '/console/assets/:name', ({ params }: FastifyRequest, reply) => {
      const { name } = params as { readonly name: string };
      return reply.headers(HEADERS).header('cache-control', IMMUTABLE).sendFile(`assets/${name}`);
    });
    addResource(pages, '/console/settings', (_request, reply) =>
      reply.headers(HEADERS).type(JSON_TYPE).header('cache-control', 'no-cache').send(shown),
    );
  });
}

interface InstanceOptions {
  readonly authenticate: Authenticate;
  readonly scopes: ScopePolicy;
  readonly report: () => Promise<object>;
}

/** Adds `/console/instance`, the state of the instance. Needs a token with `plants:audit`; the store is not read. */
export function registerInstance(app: FastifyInstance, { authenticate, scopes, report }: InstanceOptions): void {
  const show: RouteHandlerMethod = async (request, reply) => {
    scopes.require(request.principal!, 'plants:audit');
    return reply
      .type(JSON_TYPE)
      .header('cache-control', 'no-store')
      .send(JSON.stringify(await report()));
  };
  addResource(app, '/console/instance', show, { onRequest: authentication(authenticate), preHandler: takePermit });
}

/** Adds `/`, which leads people to the console. Clients that do not ask for HTML get 404. */
function addFrontPage(app: FastifyInstance): void {
  addResource(app, '/', (_request, reply) => reply.redirect('/console'), {
    ...WITHOUT_TOKEN,
    onRequest: [refusePrograms, WITHOUT_TOKEN.onRequest],
  });
}

function refusePrograms({ headers }: FastifyRequest, reply: FastifyReply, next: () => void): void {
  varyBy(reply, 'accept');
  if (!prefers('text/html', headers.accept))
    throw new PlantStoreError('ROUTE_NOT_FOUND', 'unknown path; see /openapi.json');
  next();
}
