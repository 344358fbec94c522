import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { PlantStoreError } from '../../domain/errors.ts';
import type { RequestObserver } from '../../observe/request-observer.ts';
import { type ConnectionLimits, limitConnections } from '../admission/connections.ts';
import { MAX_MESSAGE } from '../message-size.ts';
import { requestId } from '../request-id.ts';
import { answerOn } from './answer-on.ts';
import { sendError } from './error-reply.ts';
import type { Guard } from './guard.ts';
import { routeAllMethods } from './methods.ts';
import { activateSpans, ObservedRequests } from './observe.ts';
import { answerSocketError, refuseConnect } from './socket-error.ts';

/** Most bytes of a request line with its headers: less than one read of a socket, so that an overflow shows where it began. */
const MAX_HEADERS = 32 * 1024;
/** Longest time in milliseconds for the headers of a request, or for a new connection to say something. */
const HEADERS_TIMEOUT = 20_000;
/** Milliseconds between two looks for requests that take too long. */
const TIMEOUT_CHECK = 1_000;

/** Who stands before the routes, and who hears of requests. */
export interface HttpServerOptions {
  readonly guard?: Guard;
  readonly observer?: RequestObserver;
}

/**
 * The HTTP/1.1 server that REST, Connect and the documentation share, without routes yet and not listening. Every failure that
 * is not a route's own has the body of the REST contract: unknown paths, bad URLs, bytes that are no HTTP. Without a guard every
 * request is let in.
 */
export function createHttpServer(
  logger: FastifyBaseLogger,
  limits: ConnectionLimits,
  { guard, observer }: HttpServerOptions = {},
): FastifyInstance {
  const app = Fastify({
    loggerInstance: logger,
    logController: new ObservedRequests(observer),
    bodyLimit: MAX_MESSAGE,
    serverFactory: (serve) => listener(guard?.around(serve) ?? serve, limits),
    routerOptions: { maxParamLength: MAX_HEADERS },
    exposeHeadRoutes: false,
    // What arrives on an open connection while the server drains is still answered; the connection then closes.
    return503OnClosing: false,
    genReqId: requestId,
    // A logger for each request would be made for nothing: the few lines that need it name the request themselves.
    childLoggerFactory: (parent) => parent,
    frameworkErrors: sendError,
    clientErrorHandler: answerSocketError,
  });
  routeAllMethods(app);
  activateSpans(app, observer);
  app.removeAllContentTypeParsers();
  app.setErrorHandler(sendError);
  app.addHook('onRequest', refuseEarly);
  limitConnections(app.server, limits.maxConnections, logger);
  app.server.setTimeout(limits.idleTimeout * 1_000, endWhenIdle);
  // An expectation other than 100-continue may be ignored (RFC 9110, section 10.1.1); Node would answer with an empty body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  // Node would ask for the body before anybody has looked at the token.
  if (guard !== undefined)
    app.server.on('checkContinue', (request, response) => app.server.emit('request', request, response));
  app.server.on('connect', refuseConnect);
  guard?.endConnectionsOf(app);
  return app;
}

function listener(serve: RequestListener, { requestTimeout, idleTimeout }: ConnectionLimits): Server {
  const options = {
    maxHeaderSize: MAX_HEADERS,
    requestTimeout: requestTimeout * 1_000,
    headersTimeout: Math.min(HEADERS_TIMEOUT, requestTimeout * 1_000),
    connectionsCheckingInterval: TIMEOUT_CHECK,
    keepAliveTimeout: idleTimeout * 1_000,
    // Node would refuse a missing Host itself, with an empty body.
    requireHostHeader: false,
  };
  return createServer(options, serve);
}

/**
 * Breaks off a connection on which nothing went in or out for the idle time-out. An answer that is waited for may take its time,
 * and a first request that does not come is answered with 408 by the limit on headers.
 */
function endWhenIdle(socket: Socket): void {
  const isUnused = socket.bytesWritten === 0;
  const isIdle = !isUnused && answerOn(socket) === undefined;
  if (socket.writableLength > 0 || isIdle) socket.destroy();
}

/** Refuses what no route may see, before a body is read: 404 wins over 415. */
function refuseEarly(request: FastifyRequest, reply: FastifyReply, next: () => void): void {
  const { httpVersion, rawHeaders } = request.raw;
  // No browser takes an answer for anything but what its type says, whatever plant names are in it.
  reply.header('x-content-type-options', 'nosniff');
  const hosts = hostsAmong(rawHeaders);
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1'))
    throw new PlantStoreError('MALFORMED_REQUEST', 'a request of HTTP/1.1 must have one Host header');
  if (request.is404) throw new PlantStoreError('ROUTE_NOT_FOUND', 'there is nothing at this path; see /openapi.json');
  next();
}

/** Host headers among names and values in turn (RFC 9112, section 3.2). Node's own `headers` keeps the first of several. */
function hostsAmong(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts;
}
