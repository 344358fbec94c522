import type { ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import type { PlantStoreError } from '../../domain/errors.ts';
import { codeName, type Protocol } from '../../observe/request.ts';
import type { RequestObserver } from '../../observe/request-observer.ts';
import type { RequestSpan } from '../../observe/tracing/tracing.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A method of Connect and gRPC-Web. */
    rpc?: true;
  }
  interface FastifyRequest {
    /** The google.rpc.Code that a call of Connect or gRPC-Web came to; null before there is a call, and for all else. */
    rpcCode: number | null;
    /** What it failed of; null while it has not. */
    failure: PlantStoreError | null;
    /** Its span, while there are traces. */
    span: RequestSpan | null;
  }
}

/** Methods that the service knows. Any other is counted as one, so that nobody can make up metrics. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Numbers of google.rpc.Code. */
const OK = 0;
const CANCELLED = 1;

/** What nginx calls a request whose client went away. */
const BROKEN_OFF = '499';

/**
 * In the place of the two lines that Fastify would log: tells of each request once, when its answer is out or broken off. That
 * holds for whatever Fastify answers, bad URLs and unknown paths among it.
 */
export class ObservedRequests extends LogController {
  readonly #observer: RequestObserver | undefined;
  /** By the URLs of routes, of which there are few. */
  readonly #templates = new Map<string, string>();

  constructor(observer: RequestObserver | undefined) {
    super();
    this.#observer = observer;
  }

  override incomingRequest(request: FastifyRequest, reply: FastifyReply): void {
    const observer = this.#observer;
    if (observer === undefined) return;
    const begun = performance.now();
    const { socket } = request;
    const written = socket.bytesWritten;
    const method = METHODS.has(request.method) ? request.method : '_OTHER';
    const route = this.#templateOf(request.routeOptions.url);
    const protocol = protocolOf(request);
    const span = observer.tracing?.begin({ protocol, method, route, headers: request.headers });
    if (span !== undefined) request.span = span;
    reply.raw.on('close', () => {
      const status = statusLabel(request, reply.raw);
      span?.end({ protocol, status });
      observer.ended({
        protocol,
        method,
        route,
        status,
        seconds: (performance.now() - begun) / 1000,
        bytes: socket.bytesWritten - written,
        requestId: request.id,
        principal: request.principal ?? undefined,
        failure: request.failure ?? undefined,
        traceId: span?.traceId,
      });
    });
  }

  override requestCompleted(): void {}

  #templateOf(url: string | undefined): string {
    if (url === undefined) return 'unmatched';
    const known = this.#templates.get(url);
    if (known !== undefined) return known;
    const template = url.replaceAll(/:(\w+)/g, '{$1}');
    this.#templates.set(url, template);
    return template;
  }
}

/** Lets handlers run as part of the span of their request, while there are traces. */
export function activateSpans(app: FastifyInstance, observer: RequestObserver | undefined): void {
  app.decorateRequest('rpcCode', null).decorateRequest('span', null).decorateRequest('failure', null);
  if (observer?.tracing === undefined) return;
  app.addHook('preHandler', (request, _reply, next) => {
    if (request.span === null) next();
    else request.span.run(next);
  });
}

function protocolOf({ routeOptions: { config }, headers }: FastifyRequest): Protocol {
  if (config?.rpc === undefined) return 'rest';
  return headers['content-type']?.startsWith('application/grpc-web') ? 'grpc_web' : 'connect';
}

/** What a call came to; where Connect answered without one, or there was none, the HTTP status. */
function statusLabel({ rpcCode }: FastifyRequest, raw: ServerResponse): string {
  // A request that has no route has no such property.
  if (typeof rpcCode !== 'number') return raw.writableFinished ? String(raw.statusCode) : BROKEN_OFF;
  return codeName(rpcCode === OK && !raw.writableFinished ? CANCELLED : rpcCode);
}
