import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PlantStoreError } from '../../domain/errors.ts';
import { elementsOf } from '../http/accept.ts';
import { withoutToken } from '../http/authentication.ts';
import { isUnmodified } from '../http/conditional.ts';
import { JSON_TYPE } from '../http/error-body.ts';
import { refuseOtherMethods } from '../http/methods.ts';
import { type ConsoleFiles, readConsole } from './files.ts';

const READ = ['GET', 'HEAD'];

/** The page runs only its own script, never turns text into markup, and calls only this service. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
};

/** For files whose name changes with their content. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

/** What the console needs before sign-in. */
export interface ConsoleSettings {
  /** The claim of a token that names the owner. */
  readonly ownerClaim: string;
  /** Scopes that are enforced in addition to the permanent ones. */
  readonly requiredScopes: readonly string[];
  /** Whether /log is served. */
  readonly publicLog: boolean;
}

/** Adds `/console`, the page for people to inspect the service. The page needs no token; its data does. */
export function registerConsole(app: FastifyInstance, settings: ConsoleSettings): void {
  let files: Promise<ConsoleFiles | undefined> | undefined;
  const add = (url: string, answer: (request: FastifyRequest, reply: FastifyReply) => unknown): void => {
    app.route({
      method: [...READ],
      url,
      onRequest: withoutToken,
      handler: async (request, reply) => {
        reply.headers(HEADERS);
        return answer(request, reply);
      },
    });
    refuseOtherMethods(app, url, READ);
  };
  /** Reads the files at the first request. */
  const built = async (): Promise<ConsoleFiles> => {
    files ??= readConsole();
    const found = await files;
    if (found !== undefined) return found;
    throw new PlantStoreError('ROUTE_NOT_FOUND', 'the console is not built; npm run console builds it');
  };

  const showPage = async ({ headers }: FastifyRequest, reply: FastifyReply) => {
    const { page, tag } = await built();
    reply.header('cache-control', 'no-cache').header('etag', tag);
    if (isUnmodified(headers['if-none-match'], tag)) return reply.code(304).send();
    return reply.type('text/html; charset=utf-8').send(page);
  };
  add('/console', showPage);
  add('/console/', showPage);

  add('/console/assets/:name', async (request, reply) => {
    const asset = (await built()).assets.get((request.params as { name: string }).name);
    if (asset === undefined)
      throw new PlantStoreError('ROUTE_NOT_FOUND', 'the console has no such file; load it again');
    const { type, body, compressed } = asset;
    reply.type(type).header('cache-control', IMMUTABLE).header('vary', 'accept-encoding');
    const coding = [...compressed.keys()].find((name) => accepts(request, name));
    if (coding === undefined) return reply.send(body);
    return reply.header('content-encoding', coding).send(compressed.get(coding));
  });

  add('/console/settings', (_request, reply) =>
    reply.type(JSON_TYPE).header('cache-control', 'no-cache').send(JSON.stringify(settings)),
  );
}

/** Whether a request accepts a content coding by name (RFC 9110, section 12.5.3). */
const accepts = ({ headers }: FastifyRequest, coding: string): boolean =>
  elementsOf(headers['accept-encoding'] ?? '').some((element) => {
    const [name, weight] = element.split(';', 2).map((part) => part.trim());
    return name === coding && !/^q=0(\.0*)?$/.test(weight ?? '');
  });
