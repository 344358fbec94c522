import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { PlantStoreError } from '../../domain/errors.ts';
import { sendError } from './error-reply.ts';
import { routeAllMethods } from './methods.ts';
import { requestId } from './request-id.ts';
import { answerSocketError, refuseConnect } from './socket-error.ts';

/** Most bytes of a body. */
const MAX_BODY = 1024 * 1024;
/** Most bytes of a request line with its headers: less than one read of a socket, so that an overflow shows where it began. */
const MAX_HEADERS = 32 * 1024;
/** Milliseconds in which a request with its body must have arrived. */
const REQUEST_TIMEOUT = 60_000;

/**
 * The HTTP/1.1 server that REST, Connect and the documentation share, without routes yet and not listening. Every failure that
 * is not a route's own has the body of the REST contract: unknown paths, bad URLs, bytes that are no HTTP.
 */
export function createHttpServer(logger: FastifyBaseLogger): FastifyInstance {
  const app = Fastify({
    loggerInstance: logger,
    logController: new QuietLog({ requestIdLogLabel: 'requestId' }),
    bodyLimit: MAX_BODY,
    requestTimeout: REQUEST_TIMEOUT,
    // Node would refuse a missing Host itself, with an empty body.
    http: { maxHeaderSize: MAX_HEADERS, requireHostHeader: false },
    routerOptions: { maxParamLength: MAX_HEADERS },
    exposeHeadRoutes: false,
    // What arrives on an open connection while the server drains is still answered; the connection then closes.
    return503OnClosing: false,
    genReqId: requestId,
    frameworkErrors: sendError,
    clientErrorHandler: answerSocketError,
  });
  routeAllMethods(app);
  app.removeAllContentTypeParsers();
  app.setErrorHandler(sendError);
  app.addHook('onRequest', refuseEarly);
  // An expectation other than 100-continue may be ignored (RFC 9110, section 10.1.1); Node would answer with an empty body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.server.on('connect', refuseConnect);
  return app;
}

/** Leaves out the two lines that Fastify logs for each request. */
class QuietLog extends LogController {
  override incomingRequest(): void {}
  override requestCompleted(): void {}
}

/** Refuses what no route may see, before a body is read: 404 wins over 415. */
function refuseEarly(request: FastifyRequest, reply: FastifyReply, next: () => void): void {
  const { headers, httpVersion } = request.raw;
  // No browser takes an answer for anything but what its type says, whatever plant names are in it.
  reply.header('x-content-type-options', 'nosniff');
  if (headers.host === undefined && httpVersion === '1.1')
    throw new PlantStoreError('MALFORMED_REQUEST', 'a request of HTTP/1.1 must have a Host header');
  if (request.is404) throw new PlantStoreError('ROUTE_NOT_FOUND', 'there is nothing at this path; see /openapi.json');
  next();
}
