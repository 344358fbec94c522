import { createServer, type IncomingMessage, METHODS, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { cors } from '@connectrpc/connect';
import fastifyCors from '@fastify/cors';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { PlantStoreError } from '../../domain/errors.ts';
import { requestId } from '../../observe/request.ts';
import type { RequestObserver } from '../../observe/telemetry.ts';
import type { Admission } from '../admission/admission.ts';
import type { ConnectionLimits } from '../admission/connection.ts';
import { MAX_MESSAGE } from '../call-limits.ts';
import { answerOn, connectionOf, HttpConnection, MAX_HEADERS } from './connection.ts';
import { answerSocketError, refuseConnect, sendError } from './error-reply.ts';
import { routeAllMethods } from './methods.ts';
import { activateSpans, ObservedRequests } from './observe.ts';

/** Most header lines of a request. Node drops any more, so that a request with as many is refused. */
const MAX_HEADER_LINES = 128;
/** Milliseconds for the headers of a request, and for the first bytes of a new connection. */
const HEADERS_TIMEOUT = 20_000;
/** Milliseconds between two checks for requests that take too long. */
const CHECK_INTERVAL = 1_000;

/** Who lets requests in, and who observes them. */
export interface HttpServerOptions {
  readonly admission: Admission;
  /** Whether the service serves only until its clients have gone elsewhere. */
  readonly isDraining?: () => boolean;
  readonly observer?: RequestObserver;
  /** Origins whose scripts may call; see allowOrigins. Default: none. */
  readonly corsOrigins?: readonly string[];
}

/**
 * The HTTP/1.1 server that REST, Connect and the documentation share, without routes and not listening yet. Every
 * failure outside a route has the Error body of the REST contract: unknown paths, bad URLs, bytes that are not HTTP.
 */
export function createHttpServer(
  logger: FastifyBaseLogger,
  limits: ConnectionLimits,
  { admission, isDraining = () => false, observer, corsOrigins = [] }: HttpServerOptions,
): FastifyInstance {
  const app = Fastify({
    loggerInstance: logger,
    logController: new ObservedRequests(observer),
    bodyLimit: MAX_MESSAGE,
    serverFactory: (serve) => listener(inOrder(serve, isDraining), limits),
    routerOptions: { maxParamLength: MAX_HEADERS },
    exposeHeadRoutes: false,
    // A request on an open connection is still answered while the server drains. The connection then closes.
    return503OnClosing: false,
    genReqId: identified,
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    // No logger for each request: the few lines that need the request name it themselves.
    childLoggerFactory: (parent) => parent,
    frameworkErrors: sendError,
    clientErrorHandler: (error, socket) => answerSocketError(error, socket, observer),
  });
  routeAllMethods(app);
  activateSpans(app, observer);
  app.removeAllContentTypeParsers();
  app.setErrorHandler(sendError);
  if (corsOrigins.length > 0) allowOrigins(app, corsOrigins);
  // After CORS, without whose headers a script cannot read a refusal.
  app.addHook('onRequest', refuseEarly);
  app.server.setTimeout(limits.idleTimeout * 1_000, endWhenIdle);
  // An expectation other than 100-continue may be ignored (RFC 9110, section 10.1.1). Node would answer with an empty
  // body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  // Node would request the body before the token is checked.
  app.server.on('checkContinue', (request, response) => app.server.emit('request', request, response));
  app.server.on('connect', (_request, socket) => refuseConnect(socket, observer));
  app.server.maxHeadersCount = MAX_HEADER_LINES;
  const connections = new Set<HttpConnection>();
  let isStopping = false;
  app.server.on('connection', (socket) => {
    const connection = new HttpConnection(socket, admission);
    if (isStopping) connection.stop();
    connections.add(connection);
    socket.once('close', () => connections.delete(connection));
  });
  app.addHook('preClose', async () => {
    isStopping = true;
    for (const connection of connections) connection.stop();
  });
  return app;
}

/**
 * Serves requests when their connections let them. While the service drains, answers announce the end of their
 * connection (RFC 9112, section 9.6), so that no client sends another request on it.
 */
const inOrder =
  (serve: RequestListener, isDraining: () => boolean): RequestListener =>
  (request, response) => {
    if (isDraining()) response.setHeader('connection', 'close');
    // Node's parser knows the methods of RTSP too, which its list lacks, and for which Fastify has no route.
    if (!METHODS.includes(request.method!)) request.method = 'TRACE';
    connectionOf(request.socket).begin(response, () => serve(request, response));
  };

function listener(serve: RequestListener, { requestTimeout, idleTimeout }: ConnectionLimits): Server {
  const options = {
    maxHeaderSize: MAX_HEADERS,
    requestTimeout: requestTimeout * 1_000,
    headersTimeout: Math.min(HEADERS_TIMEOUT, requestTimeout * 1_000),
    connectionsCheckingInterval: CHECK_INTERVAL,
    keepAliveTimeout: idleTimeout * 1_000,
    // Half-open connections stay off, Node's default: a client that ends its side has left (RFC 9112, section 9.6).
    // Otherwise only a write would show it, and the watch of a client that left would last until its next change.
    // Node would refuse a missing Host itself, with an empty body.
    requireHostHeader: false,
    // Otherwise Node would keep the first of several, and a proxy in front may have looked at another one.
    joinDuplicateHeaders: true,
    // A request without a body ends with its headers: nobody waits for events of its stream (decisions/0014).
    optimizeEmptyRequests: true,
  };
  // HttpConnection resumes a socket. http passes this option of net on to nobody, but net looks at the property.
  return Object.assign(createServer(options, serve), { pauseOnConnect: true });
}

/** The id of a request, which its connection knows too: the parser's error may answer it. */
function identified(request: IncomingMessage): string {
  const id = requestId(request);
  connectionOf(request.socket).requestId = id;
  return id;
}

/** No route has a schema of Fastify. Without this, each start would load a compiler of schemas. */
const noSchemas = (): never => {
  throw new Error('a route has a schema, and Fastify has no compiler for it');
};

/**
 * Closes a connection without traffic for the idle time-out, unless a response is awaited. The limit on headers answers
 * 408 when the first request does not come.
 */
function endWhenIdle(socket: Socket): void {
  const isUnused = socket.bytesWritten === 0;
  const isIdle = !isUnused && answerOn(socket) === undefined;
  if (socket.writableLength > 0 || isIdle) socket.destroy();
}

/** A host, which may be empty, and a port (RFC 9112, section 3.2; RFC 3986, section 3.2.2). */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~%!$&'()*+,;=-]*)(?::\d*)?$/i;

/** Refuses requests that no route may get, before a body is read: 404 comes before 415. */
function refuseEarly(request: FastifyRequest, reply: FastifyReply, next: () => void): void {
  const { httpVersion, headers, rawHeaders } = request.raw;
  // A client of another version understands no answer of this one.
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    throw new PlantStoreError('MALFORMED_REQUEST', 'the version must be HTTP/1.1 or HTTP/1.0');
  // Browsers must not guess another type, whatever plant names a response contains.
  reply.header('x-content-type-options', 'nosniff');
  if (rawHeaders.length >= 2 * MAX_HEADER_LINES)
    throw new PlantStoreError('MALFORMED_REQUEST', `a request may have fewer than ${MAX_HEADER_LINES} header lines`);
  // Node joins several headers of a name with a comma and a blank, which no host has.
  if (headers.host === undefined ? httpVersion === '1.1' : !HOST.test(headers.host))
    throw new PlantStoreError(
      'MALFORMED_REQUEST',
      'a request of HTTP/1.1 must have one Host header, with a valid host',
    );
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersion !== '1.1')) {
    // Whoever stands in front may see the end of such a request elsewhere.
    reply.header('connection', 'close');
    throw new PlantStoreError('MALFORMED_REQUEST', 'the only supported transfer coding is chunked, over HTTP/1.1');
  }
  // Fastify takes the target * for /, and the plugin of CORS has a route for OPTIONS of every path.
  if (request.is404 || request.url === '*' || request.routeOptions.url === '*')
    throw new PlantStoreError('ROUTE_NOT_FOUND', 'unknown path; see /openapi.json');
  next();
}

/** Request headers that a script may send, in addition to those of the protocols. */
const ALLOWED = [
  'Authorization',
  'Idempotency-Key',
  'If-None-Match',
  'Last-Event-ID',
  'Traceparent',
  'Tracestate',
  'X-Request-Id',
];

/** Response headers of the service that a script may read. */
const EXPOSED = [
  ...['ETag', 'Idempotency-Replayed', 'Link', 'Plantstore-Position', 'Plantstore-Reason'],
  ...['Retry-After', 'WWW-Authenticate', 'X-Request-Id'],
];

/**
 * Lets scripts of these origins (such as `https://app.example`, or `*` for all) call REST, Connect and gRPC-Web from a
 * browser. It never allows cookies: the token alone authenticates a caller. Without this call, no script of another
 * origin can read anything.
 */
function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  // The plugin takes every OPTIONS request for a preflight, or refuses the others without the Error body.
  app.register(fastifyCors, {
    origin: [...origins],
    exposedHeaders: [...EXPOSED, ...cors.exposedHeaders],
    preflight: false,
  });
  const allowed = {
    'access-control-allow-methods': ['DELETE', ...cors.allowedMethods].join(', '),
    'access-control-allow-headers': [...ALLOWED, ...cors.allowedHeaders].join(', '),
    'access-control-max-age': 7200,
  };
  app.addHook('onRequest', (request, reply, next) => {
    if (isPreflight(request)) reply.code(204).headers(allowed).send();
    else next();
  });
}

/** Whether a browser asks what a script may call (WHATWG Fetch, section 3.3.2). */
const isPreflight = ({ method, headers }: FastifyRequest): boolean =>
  method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
