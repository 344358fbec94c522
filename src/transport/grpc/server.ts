import { once } from 'node:events';
import type { AddressInfo, Server as Listener } from 'node:net';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { Authenticator } from '../../auth/authenticator.ts';
import { toPlantStoreError } from '../../domain/errors.ts';
import type { Logger } from '../../observe/logger.ts';
import type { RequestObserver } from '../../observe/request-observer.ts';
import { sparing } from '../../observe/sparing.ts';
import type { Admission } from '../admission/admission.ts';
import { type ConnectionLimits, limitConnections } from '../admission/connections.ts';
import { rpcErrorOf } from '../failure.ts';
import type { Service } from '../service.ts';
import type { ServerCall } from './call.ts';
import { Connections } from './connections.ts';
import { serverDefinitionOf } from './definition.ts';
import type { Door } from './door.ts';
import { handlersOf } from './handlers.ts';
import { limitsOf } from './limits.ts';
import { createListener, type ListenerTls } from './listener.ts';
import { limitMetadata } from './metadata-limit.ts';
import { serveCalls, servedCallOf } from './served-call.ts';
import { GrpcHealth } from './standard/health.ts';
import { addReflection } from './standard/reflection.ts';
import { statusOf } from './status.ts';
import { interceptUnmatched } from './unmatched.ts';

/** Options of the gRPC server. */
export interface GrpcServerOptions extends ListenerTls {
  readonly services: readonly Service[];
  readonly authenticate: Authenticator['authenticate'];
  /** Admits a call before it is read. Health checks and reflection have their own places. */
  readonly admission: Pick<Admission, 'enter' | 'beside'>;
  readonly limits: ConnectionLimits;
  readonly logger: Logger;
  readonly observer?: RequestObserver;
  /** Whether clients should send calls here. Asked at every health check, and ten times a second for watches. */
  readonly isReady: () => boolean;
  /**
   * Adds a service for other instances, which authenticates its calls itself. Admission does not apply to it, and
   * reflection does not show it.
   */
  readonly addInternal?: (server: Server) => void;
}

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

/**
 * Concurrent calls and most message bytes of gRPC's own services: health, which must answer under any load, and
 * reflection.
 */
const STANDARD_PLACES = 256;
const STANDARD_MESSAGE = 4 * 1024;

/** Makes a server of these services that does not listen yet. Throws when the TLS files are invalid. */
export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const { services, authenticate, admission, limits, logger, observer, isReady } = options;
  const stop = new AbortController();
  const connections = new Connections();
  const breakOff = (peer: string) => connections.breakOff(peer);
  const fail = (thrown: unknown, requestId?: string) => statusOf(rpcErrorOf(thrown, logger, requestId));
  const standard = { admission: admission.beside(STANDARD_PLACES), maxMessage: STANDARD_MESSAGE, awaitsRest: true };
  const doors = new Map(services.flatMap((service) => doorsOf(service, admission, authenticate)));
  const server = new Server({
    ...limitsOf(limits.idleTimeout),
    interceptors: [
      serveCalls({ doorOf: (path) => doors.get(path) ?? standard, observer, statusOf: fail, breakOff, ...limits }),
    ],
  });
  interceptUnmatched(server);
  const tellBrokenOff = sparing(({ err, repeated }) => logger.warn({ repeated }, String(err)));
  const limiting = limitMetadata(server, observer, (peer) => {
    connections.breakOffSoon(peer);
    tellBrokenOff('a connection over gRPC was ended: callers without a verified token held too much memory');
  });
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const listener = createListener(options, limits.requestTimeout, logger, (socket) => {
    connections.add(socket);
    injector.injectConnection(socket);
  });
  listener.on('close', () => clearInterval(limiting));
  limitConnections(listener, limits.maxConnections, logger);
  const handling = {
    statusOf: (thrown: unknown, { metadata }: ServerCall) => {
      const { observed } = servedCallOf(metadata);
      observed.failure = toPlantStoreError(thrown);
      return fail(thrown, observed.requestId);
    },
    stop: stop.signal,
    breakOff,
    ...limits,
  };
  for (const service of services) server.addService(serverDefinitionOf(service.desc), handlersOf(service, handling));
  const descs = services.map(({ desc }) => desc);
  const names = descs.map(({ typeName }) => typeName);
  const health = new GrpcHealth(names, isReady);
  health.addTo(server);
  addReflection(server, descs, limits.idleTimeout);
  options.addInternal?.(server);

  return {
    listen: async (host, port) => {
      listener.listen(port, host);
      await once(listener, 'listening');
      return `${host.includes(':') ? `[${host}]` : host}:${(listener.address() as AddressInfo).port}`;
    },

    drain: async (milliseconds) => {
      health.close();
      standard.admission.close();
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

/** The doors of a service's methods, by path. */
const doorsOf = (
  { desc, authenticate: own }: Service,
  admission: Door['admission'],
  authenticate: Authenticator['authenticate'],
): [string, Door][] =>
  desc.methods.map(({ name, methodKind }) => [
    `/${desc.typeName}/${name}`,
    {
      admission,
      authenticate: own ?? authenticate,
      awaitsRest: methodKind === 'unary' || methodKind === 'server_streaming',
    },
  ]);
