import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { Authenticator } from '../../auth/authenticator.ts';
import { toPlantStoreError } from '../../domain/errors.ts';
import type { Logger } from '../../observe/logger.ts';
import type { RequestObserver } from '../../observe/request-observer.ts';
import type { Admission } from '../admission/admission.ts';
import { type ConnectionLimits, limitConnections } from '../admission/connections.ts';
import { failureOf } from '../failure.ts';
import type { Service } from '../service.ts';
import type { ServerCall } from './call.ts';
import type { TlsFiles } from './certificates.ts';
import { Connections } from './connections.ts';
import { serverDefinitionOf } from './definition.ts';
import type { Door } from './door.ts';
import { handlersOf } from './handlers.ts';
import { limitsOf } from './limits.ts';
import { createListener } from './listener.ts';
import { serveCalls, servedCallOf } from './served-call.ts';
import { GrpcHealth } from './standard/health.ts';
import { addReflection } from './standard/reflection.ts';
import { statusOf } from './status.ts';

/** What to serve over gRPC, and how. */
export interface GrpcServerOptions {
  readonly services: readonly Service[];
  readonly authenticate: Authenticator['authenticate'];
  /** Lets in a call before it is read. Health checks and reflection have places of their own. */
  readonly admission: Pick<Admission, 'enter' | 'beside'>;
  readonly limits: ConnectionLimits;
  readonly logger: Logger;
  readonly observer?: RequestObserver;
  /** Asked by every health check, and ten times a second while somebody watches: whether calls should be sent here. */
  readonly isReady: () => boolean;
  /** Adds what is served beside the services, and authenticates its calls itself. It is neither let in by admission nor shown by reflection. */
  readonly addInternal?: (server: Server) => void;
  /** Without it the server speaks plaintext. */
  readonly tls?: TlsFiles;
}

/** A gRPC server with health checks and reflection. */
export interface GrpcServer {
  /** Starts to listen, on any free port when it is 0, and resolves with the address, `host:port`. Rejects when it cannot. */
  listen(host: string, port: number): Promise<string>;

  /**
   * Stops: health says NOT_SERVING, nothing more is accepted, clients are told to go elsewhere (GOAWAY), and calls end. Streams
   * that are still open after so many milliseconds end with UNAVAILABLE; a moment later all connections are closed. Resolves
   * when they are.
   */
  drain(milliseconds: number): Promise<void>;
}

/** Milliseconds that a last status has to reach its caller. */
const FAREWELL = 200;

/**
 * Places for gRPC's own services: health, which has to answer whatever the load, and reflection. So many calls of them at once, and
 * messages of so many bytes.
 */
const STANDARD_PLACES = 256;
const STANDARD_MESSAGE = 4 * 1024;

/** Makes a server of these services, not listening yet. Throws when the files for TLS cannot be used. */
export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const { services, authenticate, admission, limits, logger, observer, isReady, tls } = options;
  const stop = new AbortController();
  const connections = new Connections();
  const breakOff = (peer: string) => connections.breakOff(peer);
  const fail = (thrown: unknown, requestId?: string) => statusOf(failureOf(thrown, logger, requestId));
  const standard = { admission: admission.beside(STANDARD_PLACES), maxMessage: STANDARD_MESSAGE, awaitsRest: true };
  const doors = new Map(services.flatMap((service) => doorsOf(service, admission, authenticate)));
  const server = new Server({
    ...limitsOf(limits.idleTimeout),
    interceptors: [
      serveCalls({ doorOf: (path) => doors.get(path) ?? standard, observer, statusOf: fail, breakOff, ...limits }),
    ],
  });
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const listener = createListener(tls, limits.requestTimeout, logger, (socket) => {
    connections.add(socket);
    injector.injectConnection(socket);
  });
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

    drain: (milliseconds) =>
      new Promise((resolve) => {
        health.close();
        standard.admission.close();
        const close = () => {
          // Finds connections by what grpc-js keeps for channelz, which therefore stays on.
          server.forceShutdown();
          resolve();
        };
        let timer = setTimeout(() => {
          stop.abort();
          timer = setTimeout(close, FAREWELL);
        }, milliseconds);
        server.tryShutdown(() => {});
        // Once the last connection is closed; the callback above does not wait for those of a listener that is not its own.
        listener.close(() => {
          clearTimeout(timer);
          resolve();
        });
      }),
  };
}

/** The doors of a service's methods, by their paths. */
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
