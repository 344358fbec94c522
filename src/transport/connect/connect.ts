import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import type { DescMessage, DescService } from '@bufbuild/protobuf';
import { createContextKey, createContextValues, type HandlerContext, type ServiceImpl } from '@connectrpc/connect';
import type { UniversalHandler } from '@connectrpc/connect/protocol';
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Authenticate } from '../../auth/authenticator.ts';
import { REPLAYED_HEADER, type Service, type StreamingCall } from '../../call.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import { dropLongLimits, MAX_MESSAGE } from '../call-limits.ts';
import { stopping } from '../failure.ts';
import { identify, takePermit } from '../http/authentication.ts';
import { readBody } from '../http/body.ts';
import { connectionOf, type HttpConnection } from '../http/connection.ts';
import { UNBUFFERED } from '../http/headers.ts';
import { compressed, messageBytes } from './message-bytes.ts';
import { connectErrorOf, relay } from './relay.ts';

/** Most bytes of a response message: the default limit of gRPC clients. Pages are far smaller. */
const MAX_RESPONSE = 4 * 1024 * 1024;

const identified = promisify(identify);
const bodyRead = promisify(readBody);
const permitted = promisify(takePermit);

declare module 'fastify' {
  interface FastifyRequest {
    /** The reply to a call of Connect or gRPC-Web whose answer is a stream. Null for other requests. */
    streamReply: FastifyReply | null;
  }
}

const requestKey = createContextKey<FastifyRequest | undefined>(undefined, { description: 'request' });

interface ConnectOptions {
  readonly services: readonly Service[];
  readonly authenticate: Authenticate;
  /** Milliseconds for streams to end once the app closes. The rest then end as UNAVAILABLE. */
  readonly drainLimit: number;
}

/**
 * Adds the routes of these services for Connect and gRPC-Web. Their failures have Connect's own form. Requests that are
 * no Connect calls get the app's Error body. Messages are not compressed: a proxy in front can do that.
 */
export function registerConnect(app: FastifyInstance, options: ConnectOptions): void {
  const { services, authenticate, drainLimit } = options;
  const handlers = new Map<string, UniversalHandler>();
  const stop = new AbortController();
  app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.decorateRequest('streamReply', null);
    scope.addHook('onRoute', (route) => {
      route.config = { ...route.config, rpc: true };
    });
    scope.addHook('onRequest', async (request, reply) => {
      const handler = handlers.get(request.routeOptions.url!)!;
      checkRequest(handler, request, reply);
      if (handler.method.methodKind === 'unary') return;
      reply.headers(UNBUFFERED);
      request.streamReply = reply;
      followWrites(reply.raw, connectionOf(request.raw.socket));
    });
    scope.addHook('preHandler', async (request, reply) => {
      dropLongLimits(request.raw.headers);
      request.body = bodyOf(request, reply, handlers.get(request.routeOptions.url!)!);
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

/**
 * Counts what the client of a stream has not read. Gives the error of each failed write a code by which the plugin
 * knows a client that has left: for any other one it writes a stack to stderr.
 */
function followWrites(response: ServerResponse, connection: HttpConnection): void {
  const write = response.write.bind(response) as (chunk: Uint8Array, encoding: BufferEncoding, done: Done) => boolean;
  response.write = (chunk: Uint8Array, encoding?: BufferEncoding | Done, done?: Done) => {
    const named: Done = (error) => done?.(error && Object.assign(error, { code: 'ECONNRESET' }));
    const isTaken = write(chunk, encoding as BufferEncoding, named);
    connection.countUnread();
    return isTaken;
  };
}

type Done = (error: Error | null | undefined) => void;

const implementationOf = (methods: Service['methods']): ServiceImpl<DescService> =>
  Object.fromEntries(
    Object.entries(methods).map(([name, method]) => [
      name,
      (request: object, context: HandlerContext) => method(request as never, callOf(context)),
    ]),
  ) as ServiceImpl<DescService>;

function callOf({ values, signal, responseHeader }: HandlerContext): StreamingCall {
  const { principal, headers, raw, streamReply } = values.get(requestKey)!;
  const connection = connectionOf(raw.socket);
  return {
    principal: principal!,
    idempotencyKey: headers['idempotency-key'],
    signal,
    beginStream: () => connection.beginStream(),
    sendHeaders: () => sendHeaders(streamReply!, responseHeader),
    setHeld: (bytes) => connection.setHeld(bytes),
    set replayed(isReplayed: boolean) {
      if (isReplayed) responseHeader.set(REPLAYED_HEADER, 'true');
    },
  };
}

/** Sends the headers of a stream. The plugin would only at the first message, and then does so in vain. */
function sendHeaders(reply: FastifyReply, headers: Headers): void {
  const { raw } = reply;
  if (raw.headersSent) return;
  const all = { ...reply.getHeaders(), ...Object.fromEntries(headers) };
  raw.writeHead(200, all as OutgoingHttpHeaders).flushHeaders();
  raw.setHeader = () => raw;
  raw.writeHead = () => raw;
}

/** Authenticates a caller before its message is read. */
async function admit({ values }: HandlerContext, authenticate: Authenticate): Promise<void> {
  const request = values.get(requestKey)!;
  try {
    await identified(request, authenticate);
  } catch (thrown) {
    throw connectErrorOf(thrown, request);
  }
}

/** The body for Connect, which would destroy request and response where it stops reading a request. */
function bodyOf(request: FastifyRequest, reply: FastifyReply, { method }: UniversalHandler): AsyncIterable<Uint8Array> {
  const { headers } = request.raw;
  const isCoded = CODINGS.some((name) => (headers[name] ?? 'identity') !== 'identity');
  const body = wholeBody(request, reply, headers['content-length'], isCoded, method.input);
  // The header gives the length of the body as sent. Connect would check the bytes it reads against it.
  delete headers['content-length'];
  // Connect would end its refusal with an empty list of what it accepts.
  for (const name of CODINGS) delete headers[name];
  return body;
}

/** The headers that name the compression of a message: of unary calls, of streams, and of gRPC-Web. */
const CODINGS = ['content-encoding', 'connect-content-encoding', 'grpc-encoding'];

/** A whole body as one chunk, once it is complete and the call has a permit. */
async function* wholeBody(
  request: FastifyRequest,
  reply: FastifyReply,
  announced: string | undefined,
  isCoded: boolean,
  message: DescMessage,
): AsyncGenerator<Uint8Array> {
  try {
    if (isCoded) throw compressed();
    const body = await bodyRead(request.raw, announced);
    await permitted(request, reply);
    yield messageBytes(body!, request.headers['content-type']!, message);
  } catch (thrown) {
    throw connectErrorOf(thrown, request);
  }
}

/** Not served: no client of the service uses these types, and their integers would not be exact. */
const UNSERVED_TYPE = /^application\/grpc-web(-text|\+json)/i;

/**
 * Refuses with an Error body what Connect answers with an empty body or not at all: a method other than POST, a content
 * type without a protocol of the method, and a Host that does not form a URL.
 */
function checkRequest(handler: UniversalHandler, request: FastifyRequest, reply: FastifyReply): void {
  const { method, headers, url } = request;
  if (method !== 'POST') {
    reply.header('allow', 'POST');
    throw new PlantStoreError('METHOD_NOT_ALLOWED', 'use POST');
  }
  const type = headers['content-type'] ?? '';
  if (!handler.supportedContentType(type) || UNSERVED_TYPE.test(type))
    throw new PlantStoreError('UNSUPPORTED_MEDIA_TYPE', `send the body as ${typesOf(handler)}`);
  if (headers.host === undefined || !URL.canParse(url, `http://${headers.host}`))
    throw new PlantStoreError('MALFORMED_REQUEST', 'the Host header must name the service');
}

const typesOf = ({ method }: UniversalHandler): string =>
  method.methodKind === 'unary'
    ? 'application/json, application/proto or application/grpc-web+proto'
    : 'application/connect+json, application/connect+proto or application/grpc-web+proto';
