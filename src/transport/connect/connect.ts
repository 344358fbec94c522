import { promisify } from 'node:util';
import type { DescMessage, DescService } from '@bufbuild/protobuf';
import { createContextKey, createContextValues, type HandlerContext, type ServiceImpl } from '@connectrpc/connect';
import type { UniversalHandler } from '@connectrpc/connect/protocol';
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { StreamingCall } from '../../plants/call.ts';
import { stopping } from '../failure.ts';
import { identify } from '../http/authentication.ts';
import { readBody } from '../http/body.ts';
import { entrantOf } from '../http/entrant.ts';
import { UNBUFFERED } from '../http/unbuffered.ts';
import { MAX_MESSAGE } from '../message-size.ts';
import type { Service } from '../service.ts';
import { checkRequest } from './checks.ts';
import { connectErrorOf } from './errors.ts';
import { messageBytes } from './message-bytes.ts';
import { relay } from './relay.ts';

/** Most bytes of a response message: what gRPC clients take unless told otherwise. Pages are far below it. */
const MAX_RESPONSE = 4 * 1024 * 1024;
/** The longest time limit that a client may ask for, in milliseconds: a longer one overflows the timer and ends the call at once. */
const MAX_TIMEOUT = 2 ** 31 - 1;

const identified = promisify(identify);
const bodyRead = promisify(readBody);

/** The Fastify request that a call of Connect came in. */
const requestKey = createContextKey<FastifyRequest | undefined>(undefined, { description: 'request' });

/** What to serve over Connect and gRPC-Web, and who lets a caller in. */
export interface ConnectOptions {
  readonly services: readonly Service[];
  readonly authenticate: Authenticator['authenticate'];
  /** Milliseconds that streams have to end once the app closes. They then end as UNAVAILABLE. */
  readonly drainLimit: number;
}

/**
 * Adds the routes of these services for Connect and gRPC-Web. Their failures have Connect's own form, but for what is no
 * call of Connect's, which has the Error body of the app. Messages are not compressed: that is for a proxy in front.
 */
export function registerConnect(app: FastifyInstance, options: ConnectOptions): void {
  const { services, authenticate, drainLimit } = options;
  const handlers = new Map<string, UniversalHandler>();
  const stop = new AbortController();
  app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addHook('onRoute', (route) => {
      route.config = { ...route.config, rpc: true };
    });
    scope.addHook('onRequest', async (request, reply) =>
      checkRequest(handlers.get(request.routeOptions.url!)!, request, reply),
    );
    scope.addHook('onRequest', async (request, reply) => {
      if (handlers.get(request.routeOptions.url!)!.method.methodKind !== 'unary') reply.headers(UNBUFFERED);
    });
    scope.addHook('preHandler', async (request) => {
      request.body = bodyOf(request, handlers.get(request.routeOptions.url!)!);
    });
    scope.addHook('preClose', async () => {
      setTimeout(() => stop.abort(stopping()), drainLimit).unref();
    });
    scope.register(fastifyConnectPlugin, {
      grpc: false,
      acceptCompression: [],
      jsonOptions: { ignoreUnknownFields: false },
      readMaxBytes: MAX_MESSAGE,
      writeMaxBytes: MAX_RESPONSE,
      maxTimeoutMs: MAX_TIMEOUT,
      shutdownSignal: stop.signal,
      contextValues: (request) => createContextValues().set(requestKey, request),
      requestGate: (context) => admit(context, authenticate),
      interceptors: [relay((values) => values.get(requestKey)!)],
      routes: (router) => {
        for (const { desc, methods } of services) router.service(desc, implementationOf(methods));
        for (const handler of router.handlers) handlers.set(handler.requestPath, handler);
      },
    });
    done();
  });
}

/** The methods as Connect calls them. */
const implementationOf = (methods: Service['methods']): ServiceImpl<DescService> =>
  Object.fromEntries(
    Object.entries(methods).map(([name, method]) => [
      name,
      (request: object, context: HandlerContext) => method(request as never, callOf(context)),
    ]),
  ) as ServiceImpl<DescService>;

function callOf({ values, signal }: HandlerContext): StreamingCall {
  const { principal, headers, raw } = values.get(requestKey)!;
  const lasts = () => entrantOf(raw)?.lasts();
  return { principal: principal!, idempotencyKey: headers['idempotency-key'], signal, lasts };
}

/** Lets a caller in before its message is read. */
async function admit({ values }: HandlerContext, authenticate: Authenticator['authenticate']): Promise<void> {
  const request = values.get(requestKey)!;
  try {
    await identified(request, authenticate);
  } catch (thrown) {
    throw connectErrorOf(thrown, request);
  }
}

/** What Connect reads instead of the request itself, which it would destroy where it stops to read, and the answer with it. */
function bodyOf(request: FastifyRequest, { method }: UniversalHandler): AsyncIterable<Uint8Array> {
  const { headers } = request.raw;
  const body = wholeBody(request, headers['content-length'], method.input);
  // Of the body as it was sent; Connect would hold what it reads to it.
  delete headers['content-length'];
  return body;
}

/** All of a body at once, in a place among those that are served. */
async function* wholeBody(
  request: FastifyRequest,
  announced: string | undefined,
  message: DescMessage,
): AsyncGenerator<Uint8Array> {
  try {
    const body = await bodyRead(request.raw, announced);
    yield messageBytes(body!, request.headers['content-type']!, message);
  } catch (thrown) {
    throw connectErrorOf(thrown, request);
  }
}
