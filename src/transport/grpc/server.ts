import type { IncomingHttpHeaders } from 'node:http2';
import type { Server as Listener } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { create, type DescService, toBinary } from '@bufbuild/protobuf';
import { anyPack } from '@bufbuild/protobuf/wkt';
import {
  logVerbosity,
  Metadata,
  Server,
  ServerCredentials,
  type ServerOptions,
  type StatusObject,
  setLogVerbosity,
} from '@grpc/grpc-js';
import { StatusSchema } from '../../../gen/google/rpc/status_pb.ts';
import type { Authenticate } from '../../auth/authenticator.ts';
import type { Service } from '../../call.ts';
import type { Logger } from '../../observe/logger.ts';
import type { RequestObserver } from '../../observe/telemetry.ts';
import { OVERLOADED } from '../../semaphore.ts';
import type { Admission } from '../admission/admission.ts';
import type { ConnectionLimits } from '../admission/connection.ts';
import { MAX_MESSAGE } from '../call-limits.ts';
import { type RpcError, rpcErrorOf } from '../failure.ts';
import { closeWide, listenWide, STATUS_LIMIT } from '../listeners.ts';
import { GrpcConnections } from './connections.ts';
import { type Registry, serverDefinitionOf, withUnreadable } from './definition.ts';
import { answerOf } from './handlers.ts';
import { createListener, type ListenerTls } from './listener.ts';
import { type Serving, serveCalls } from './served-call.ts';
import { addHealth } from './standard/health.ts';
import { addReflection } from './standard/reflection.ts';

/** Options of the gRPC server. */
export interface GrpcServerOptions extends ListenerTls {
  readonly services: readonly Service[];
  readonly authenticate: Authenticate;
  readonly admission: Admission;
  readonly limits: ConnectionLimits;
  readonly logger: Logger;
  readonly observer?: RequestObserver;
  /** Whether clients should send calls here. Asked at every health check, and ten times a second for watches. */
  readonly isReady: () => boolean;
  /** Adds a service for other instances, which alone may call it. No admission, no reflection of it. */
  readonly addInternal?: (registry: Registry) => void;
  /** Whether the metadata of a call to that service show that another instance makes it. Default: none does. */
  readonly isInstance?: (headers: IncomingHttpHeaders) => boolean;
}

/**
 * Seconds beyond the idle timeout after which a connection on which nothing is heard is over: Node does not tell of all
 * that are, such as of TLS that its client has cut.
 */
const SILENCE_GRACE = 5;

const HEALTH_PATH = '/grpc.health.v1.Health/';
const HEALTH: Serving = { isProbe: true };
const REFLECTION: Serving = {};

// grpc-js writes metadata that it cannot hold to stderr: a token with its secret, and a line for each call of anybody.
setLogVerbosity(logVerbosity.NONE);

/** Makes a server of these services that does not listen yet. */
export function createGrpcServer(options: GrpcServerOptions) {
  const { services, authenticate, isInstance, admission, limits, logger, observer, isReady } = options;
  const stop = new AbortController();
  const methods = new Set<string>();
  const connections = new GrpcConnections(admission, methods, limits.idleTimeout + SILENCE_GRACE, isInstance);
  // Made once, so that a refusal is cheap.
  const overloaded = statusOf(rpcErrorOf(OVERLOADED, logger));
  const fail = (thrown: unknown, requestId?: string) =>
    thrown === OVERLOADED ? overloaded : statusOf(rpcErrorOf(thrown, logger, requestId));
  const served = new Map(services.flatMap((service) => servedMethods(service, authenticate, stop.signal)));
  const servingOf = (path: string) => served.get(path) ?? (path.startsWith(HEALTH_PATH) ? HEALTH : REFLECTION);
  const server = new Server({
    ...limitsOf(limits.idleTimeout),
    interceptors: [serveCalls({ servingOf, admission, connections, observer, statusOf: fail, ...limits })],
  });
  const registry: Registry = {
    addService: (definition, implementation) => {
      for (const { path } of Object.values(definition)) methods.add(path);
      server.addService(definition, implementation);
    },
  };
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const { server: listener, endHandshakes } = createListener(options, limits.requestTimeout, (socket) =>
    connections.add(socket, () => {
      if (listener.listening) injector.injectConnection(socket);
      else socket.destroy();
    }),
  );
  listener.on('close', () => connections.close());
  const descs = services.map(({ desc }) => desc);
  for (const desc of descs) registry.addService(serverDefinitionOf(desc), uncalled(desc));
  const names = descs.map(({ typeName }) => typeName);
  const standard: Registry = {
    addService: (definition, implementation) => registry.addService(withUnreadable(definition), implementation),
  };
  const closeHealth = addHealth(standard, names, isReady);
  addReflection(standard, descs, limits.idleTimeout);
  options.addInternal?.(registry);

  return {
    /**
     * Listens and resolves with the address, `host:port`. Port 0 takes any free port. Rejects when it cannot listen.
     */
    listen: (host: string, port: number) => listenWide(listener, host, port),

    /**
     * Stops the server. Health reports NOT_SERVING, no connection is accepted, clients get GOAWAY, and calls end.
     * Streams that are still open after `milliseconds` end with UNAVAILABLE. A moment later all connections are closed,
     * and it resolves.
     */
    drain: async (milliseconds: number) => {
      closeHealth();
      const ended = shutDown(server, listener, milliseconds, stop);
      endHandshakes();
      await ended;
    },
  };
}

/** Accepts nothing more. Calls end within `milliseconds`, all connections a moment later; then it resolves. */
async function shutDown(
  server: Server,
  listener: Listener,
  milliseconds: number,
  stop: AbortController,
): Promise<void> {
  server.tryShutdown(() => {});
  // The callback of tryShutdown does not wait for the connections of a separate listener.
  const closed = closeWide(listener).then(() => true);
  const after = (limit: number) => sleep(limit, false, { ref: false });
  if (await Promise.race([closed, after(milliseconds)])) return;
  stop.abort();
  if (await Promise.race([closed, after(STATUS_LIMIT)])) return;
  // It finds connections through channelz, so channelz must stay on.
  server.forceShutdown();
}

const servedMethods = (service: Service, authenticate: Authenticate, stop: AbortSignal): [string, Serving][] =>
  service.desc.methods.map((method) => [
    `/${service.desc.typeName}/${method.name}`,
    { authenticate, answer: answerOf(service, method, stop), input: method.input },
  ]);

/** The library wants a handler of each method, in whose place ServedCall answers. */
const uncalled = ({ methods }: DescService): Record<string, () => void> =>
  Object.fromEntries(methods.map(({ localName }) => [localName, () => {}]));

/**
 * Bounds on what one client can make the server hold. Calls that are reset in the turn of the event loop in which they
 * began: see RapidResets. Those that are reset later: Node closes the connection beyond 1,000 at once, and 33 a second.
 * For metadata, see GrpcConnections.
 *
 * A client that connects anew after each cut goes on, and has no advantage: a call that it resets costs what one
 * without a token costs. Its address is not banned, because behind a proxy it would be everybody's.
 *
 * A ping finds silent connections and those whose client is gone. They are closed within `idleTimeout`, in seconds. For
 * old connections, see GrpcConnection.
 */
const limitsOf = (idleTimeout: number): ServerOptions => ({
  'grpc.max_receive_message_length': MAX_MESSAGE,
  // A client queues any further calls itself. Some begin up to a hundred before they know this.
  'grpc.max_concurrent_streams': 128,
  'grpc.keepalive_time_ms': idleTimeout * 500,
  'grpc.keepalive_timeout_ms': idleTimeout * 400,
  'grpc.max_connection_idle_ms': 5 * 60_000,
});

/** The status of a failed call: code and message, and both with the details as a google.rpc.Status (AIP-193). */
export function statusOf({ error: { code, message }, details }: RpcError): StatusObject {
  const status = create(StatusSchema, {
    code,
    message,
    details: details.map(({ desc, value }) => anyPack(desc, create(desc, value))),
  });
  const metadata = new Metadata();
  metadata.set('grpc-status-details-bin', Buffer.from(toBinary(StatusSchema, status)));
  return { code, details: message, metadata };
}
