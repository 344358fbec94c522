import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DescService, Message } from '@bufbuild/protobuf';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Authenticate } from '../../auth/authenticator.ts';
import type { Principal } from '../../auth/principal.ts';
import { type Call, REPLAYED_HEADER } from '../../call.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import type { Watch, WatchReader } from '../../plants/watch/watch.ts';
import { authentication, takePermit } from '../http/authentication.ts';
import { connectionOf, hasBody } from '../http/connection.ts';
import { EVENT_STREAM, prefers } from '../http/headers.ts';
import { refuseOtherMethods } from '../http/methods.ts';
import { compileResponder } from './answer.ts';
import type { Fields } from './encode.ts';
import { streamEvents } from './event-stream.ts';
import { type HttpRule, httpRulesOf, invalidField } from './http-rule.ts';
import { compileReader, type Query, takeBody } from './request-reader.ts';

/**
 * The methods of a service by local name, which take the decoded request. Each returns the fields of its response
 * message. A list, whose `response_body` is a repeated field, may return that field as an AsyncIterable of batches of
 * rows.
 */
export interface RestMethods {
  readonly [localName: string]: (request: never, call: Call) => Promise<object>;
}

/** What REST needs: the service's descriptor, its methods, and authentication. */
export interface RestOptions {
  readonly service: DescService;
  readonly methods: RestMethods;
  readonly authenticate: Authenticate;
  /** Opens the watch of the list that a method returns, by the method's local name; see event-stream.ts. */
  readonly watches?: { readonly [localName: string]: OpenWatch };
}

type OpenWatch = (call: Call, reader: WatchReader) => Watch;

/** Adds the routes of a service's google.api.http rules. Everything they need is compiled here, once. */
export function registerRest(app: FastifyInstance, options: RestOptions): void {
  const rules = httpRulesOf(options.service);
  app.decorateRequest('principal', null);
  app.register((scope, _options, done) => {
    scope.addContentTypeParser('application/json', takeBody);
    for (const rule of rules) addRoute(scope, rule, options);
    done();
  });
  for (const { verb, bodyField } of rules)
    if (bodyField === undefined) app.addHttpMethod(verb, { hasBody: false, overrideExisting: true });
  for (const [path, same] of Map.groupBy(rules, (rule) => rule.path))
    refuseOtherMethods(app, routePath(path), same.flatMap(verbsOf));
}

function addRoute(app: FastifyInstance, rule: HttpRule, { methods, authenticate, watches }: RestOptions): void {
  const method = methods[rule.method.localName] as (request: object, call: Call) => Promise<object>;
  if (method === undefined) throw new Error(`${rule.method} has no implementation`);
  const watch = watches?.[rule.method.localName];
  const reader = compileReader(rule);
  const answer = compileResponder(rule);
  const respond = async (message: Message, call: RestCall, reply: FastifyReply) => {
    try {
      const result = await method(message, call);
      if (call.replayed) reply.header(REPLAYED_HEADER, 'true');
      return answer(result as Fields, message as object as Fields, reply);
    } catch (error) {
      throw reader.inRest(error);
    }
  };
  app.route({
    method: verbsOf(rule),
    url: routePath(rule.path),
    onRequest: authentication(authenticate),
    preHandler: takePermit,
    // Not async: a request that cannot be read throws at once, which costs less than a rejected promise.
    handler: (request, reply) => {
      const message = reader.read(request);
      const call = new RestCall(request, reply.raw);
      return watch !== undefined && prefers(EVENT_STREAM, request.headers.accept)
        ? events(watch, call, request, reply)
        : respond(message, call, reply);
    },
  });
}

async function events(
  watch: OpenWatch,
  call: Call,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  request.isWatch = true;
  refuseParts(request.query as Query);
  // Nothing reads it, and what comes on a connection after the request of a stream ends that.
  if (hasBody(request.raw))
    throw new PlantStoreError('MALFORMED_REQUEST', 'a request for an event stream takes no body');
  await streamEvents((reader) => watch(call, reader), request, reply);
  return reply;
}

/** A stream covers all plants. Throws INVALID_FIELD for a parameter that selects a part of them. */
function refuseParts(query: Query): void {
  const part = ['limit', 'cursor'].find((name) => query[name] !== undefined);
  if (part !== undefined) throw invalidField(part, 'absent, because an event stream has all plants');
}

/** HEAD works wherever GET does (RFC 9110, section 9.3.2). */
const verbsOf = ({ verb }: HttpRule): string[] => (verb === 'GET' ? ['GET', 'HEAD'] : [verb]);

const routePath = (template: string): string => template.replaceAll(/\{(\w+)\}/g, ':$1');

/** A call of the service by a REST request. It is its own signal: one of Node's for each request would cost more. */
class RestCall implements Call {
  readonly principal: Principal;
  readonly idempotencyKey: Call['idempotencyKey'];
  replayed = false;
  readonly #raw: IncomingMessage;
  readonly #response: ServerResponse;

  /** `request` must be authenticated. */
  constructor({ principal, headers, raw }: FastifyRequest, response: ServerResponse) {
    this.principal = principal!;
    this.idempotencyKey = headers['idempotency-key'];
    this.#raw = raw;
    this.#response = response;
  }

  get signal(): Call['signal'] {
    return this;
  }

  /** Whether the client left before its answer. */
  get aborted(): boolean {
    return this.#response.closed && !this.#response.writableFinished;
  }

  beginStream(): void {
    // The answer to HEAD has no stream.
    if (this.#raw.method !== 'HEAD') connectionOf(this.#raw.socket).beginStream();
  }

  setHeld(bytes: number): void {
    connectionOf(this.#raw.socket).setHeld(bytes);
  }
}
