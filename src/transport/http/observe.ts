import type { ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import type { PlantStoreError } from '../../domain/errors.ts';
import { codeName, type Protocol, UNMATCHED } from '../../observe/request.ts';
import type { RequestObserver } from '../../observe/telemetry.ts';
import type { RequestSpan } from '../../observe/tracing.ts';
import { connectionOf } from './connection.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    rpc?: true;
  }
  interface FastifyRequest {
    /** The google.rpc.Code of a Connect or gRPC-Web call. Null before there is a call, and for other requests. */
    rpcCode: number | null;
    /** Whether its answer is a stream of changes, which lasts as long as it is read. */
    isWatch: boolean;
    failure: PlantStoreError | null;
    span: RequestSpan | null;
  }
}

/** Methods that the service knows. All others share one label, so that clients cannot create metrics. */
const LABELLED_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

const OK = 0;
const CANCELLED = 1;

/** nginx's status for a request whose client closed the connection. */
const BROKEN_OFF = '499';

/** Reports each request that Fastify answers once, at its end. Replaces the two lines that Fastify would log. */
export class ObservedRequests extends LogController {
  readonly #observer: RequestObserver | undefined;
  /** Keyed by route URLs, of which there are few. */
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
    const method = LABELLED_METHODS.has(request.method) ? request.method : '_OTHER';
    const route = this.#templateOf(request.routeOptions.url);
    const protocol = protocolOf(request);
    const span = observer.tracing?.begin({ protocol, method, route, headers: request.headers });
    if (span !== undefined) request.span = span;
    reply.raw.on('close', () => {
      const { refusal } = connectionOf(socket);
      const status = statusLabel(request, reply.raw, refusal);
      span?.end({ protocol, status });
      observer.ended({
        protocol,
        method,
        route: request.isWatch ? `${route} (watch)` : route,
        status,
        seconds: (performance.now() - begun) / 1000,
        bytes: socket.bytesWritten - written,
        requestId: request.id,
        principal: request.principal ?? undefined,
        failure: refusal ?? request.failure ?? undefined,
        traceId: span?.traceId,
      });
    });
  }

  override requestCompleted(): void {}

  #templateOf(url: string | undefined): string {
    if (url === undefined) return UNMATCHED;
    const known = this.#templates.get(url);
    if (known !== undefined) return known;
    const template = url.replaceAll(/:(\w+)/g, '{$1}');
    this.#templates.set(url, template);
    return template;
  }
}

/** Runs handlers inside the span of their request, when tracing is on. */
export function activateSpans(app: FastifyInstance, observer: RequestObserver | undefined): void {
  app.decorateRequest('rpcCode', null).decorateRequest('isWatch', false);
  app.decorateRequest('span', null).decorateRequest('failure', null);
  if (observer?.tracing === undefined) return;
  app.addHook('preHandler', (request, _reply, next) => {
    if (request.span === null) next();
    else request.span.run(next);
  });
}

/** The protocol of a request that has a route. */
export function protocolOf({ routeOptions: { config }, headers }: FastifyRequest): Protocol {
  if (config?.rpc === undefined) return 'rest';
  return headers['content-type']?.startsWith('application/grpc-web') ? 'grpc_web' : 'connect';
}

/** The code of the call. The HTTP status if Connect answered without a code or there was no call. */
function statusLabel({ rpcCode }: FastifyRequest, raw: ServerResponse, refusal: PlantStoreError | undefined): string {
  if (refusal !== undefined) return String(refusal.status);
  // A request without a route lacks the property.
  if (typeof rpcCode !== 'number') return raw.writableFinished ? String(raw.statusCode) : BROKEN_OFF;
  return codeName(rpcCode === OK && !raw.writableFinished ? CANCELLED : rpcCode);
}
