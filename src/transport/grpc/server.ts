import { once } from 'node:events';
import type { AddressInfo, Server as Listener } from 'node:net';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { Authenticator } from '../../auth/authenticator.ts';
import { toPlantStoreError } from '../../domain/errors.ts';
import type { Logger } from '../../observe/logger.ts';
import type { RequestObserver } from '../../observe/telemetry.ts';
import type { Admission } from '../admission/admission.ts';
import { type ConnectionLimits, limitConnections } from '../admission/connections.ts';
import { rpcErrorOf } from '../failure.ts';
import type { Service } from '../service.ts';
import type { ServerCall } from './call.ts';
import { GrpcConnections } from './connection.ts';
import { serverDefinitionOf } from './definition.ts';
import { handlersOf } from './handlers.ts';
import { limitsOf } from './limits.ts';
import { createListener, type ListenerTls } from './listener.ts';
import { type Serving, serveCalls, servedCallOf } from './served-call.ts';
import { GrpcHealth } from './standard/health.ts';
import { addReflection } from './standard/reflection.ts';
import { statusOf } from './status.ts';

/** Options of the gRPC server. */
export interface GrpcServerOptions extends ListenerTls {
  readonly services: readonly Service[];
  readonly authenticate: Authenticator['authenticate'];
  readonly admission: Admission;
  readonly limits: ConnectionLimits;
  readonly logger: Logger;
  readonly observer?: RequestObserver;
  /** Whether clients should send calls here. Asked at every health check, and ten times a second for watches. */
  readonly isReady: () => boolean;
  /**
   * Adds a service for other instances, which authenticates its calls itself. Admission does not apply to it, and
   * reflection does not show it.
   */
  readonly addInternal?: (registry: Registry) => void;
}

/** Where services are added. */
export type Registry = Pick<Server, 'addService'>;

/** A gRPC server with health checks and reflection. */
export interface GrpcServer {
  /** Listens and resolves with the address, `host:port`. Port 0 takes any free port. Rejects when it cannot listen. */
  listen(host: string, port: number): Promise<string>;

  /**
   * Stops the server. Health reports NOT_SERVING, no connection is accepted, clients get GOAWAY, and calls end. Streams
   * that are still open after `milliseconds` end with UNAVAILABLE. A moment later all connections are closed, and it
   * resolves.
   */
  drain(milliseconds: number): Promise<void>;
}

/** Milliseconds for a last status to reach its caller. */
const FAREWELL = 200;

const HEALTH_PATH = '/grpc.health.v1.Health/';

/** Health must be answered under any load. */
const HEALTH = { permit: 'none' } as const;
/** A stream of questions to reflection has no end, so its permit is taken at its beginning. */
const REFLECTION = { permit: 'beginning' } as const;

/** Makes a server of these services that does not listen yet. Throws when the TLS files are invalid. */
export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const { services, authenticate, admission, limits, logger, observer, isReady } = options;
  const stop = new AbortController();
  const methods = new Set<string>();
  const connections = new GrpcConnections(admission, methods);
  const fail = (thrown: unknown, requestId?: string) => statusOf(rpcErrorOf(thrown, logger, requestId));
  const served = new Map(services.flatMap((service) => servedMethods(service, authenticate)));
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
  const listener = createListener(options, limits.requestTimeout, logger, (socket) => {
    connections.add(socket);
    injector.injectConnection(socket);
  });
  listener.on('close', () => connections.close());
  limitConnections(listener, limits.maxConnections, logger);
  const handling = {
    statusOf: (thrown: unknown, { metadata }: ServerCall) => {
      const { observed } = servedCallOf(metadata);
      observed.failure = toPlantStoreError(thrown);
      return fail(thrown, observed.requestId);
    },
    stop: stop.signal,
    ...limits,
  };
  for (const service of services) registry.addService(serverDefinitionOf(service.desc), handlersOf(service, handling));
  const descs = services.map(({ desc }) => desc);
  const names = descs.map(({ typeName }) => typeName);
  const health = new GrpcHealth(names, isReady);
  health.addTo(registry);
  addReflection(registry, descs, limits.idleTimeout);
  options.addInternal?.(registry);

  return {
    listen: async (host, port) => {
      listener.listen(port, host);
      await once(listener, 'listening');
      return `${host.includes(':') ? `[${host}]` : host}:${(listener.address() as AddressInfo).port}`;
    },

    drain: async (milliseconds) => {
      health.close();
      await shutDown(server, listener, milliseconds, stop);
    },
  };
}

/**
 * Accepts nothing more and resolves once every connection is closed. Calls that last longer than `milliseconds` are
 * stopped, and their connections are closed a moment later.
 */
function shutDown(server: Server, listener: Listener, milliseconds: number, stop: AbortController): Promise<void> {
  return new Promise((resolve) => {
    const close = () => {
      // It finds connections through channelz, so channelz must stay on.
      server.forceShutdown();
      resolve();
    };
    let timer = setTimeout(() => {
      stop.abort();
      timer = setTimeout(close, FAREWELL);
    }, milliseconds);
    server.tryShutdown(() => {});
    // The callback of tryShutdown does not wait for the connections of a separate listener. This one runs once the
    // last connection is closed.
    listener.close(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** How the methods of a service are served, by path. */
const servedMethods = (
  { desc, authenticate: own }: Service,
  authenticate: Authenticator['authenticate'],
): [string, Serving][] =>
  desc.methods.map(({ name }) => [
    `/${desc.typeName}/${name}`,
    { authenticate: own ?? authenticate, permit: 'request' },
  ]);
