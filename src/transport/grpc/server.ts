import { Server } from '@grpc/grpc-js';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { Logger } from '../../observe/logger.ts';
import type { Admission } from '../admission.ts';
import { failureOf } from '../failure.ts';
import type { Service } from '../service.ts';
import { credentialsOf, type TlsFiles } from './credentials.ts';
import { definitionOf } from './definition.ts';
import { handlersOf } from './handlers.ts';
import { GrpcHealth } from './health.ts';
import { LIMITS } from './limits.ts';
import { addReflection } from './reflection.ts';
import { statusOf } from './status.ts';

/** What to serve over gRPC, and how. */
export interface GrpcServerOptions {
  readonly services: readonly Service[];
  readonly authenticate: Authenticator['authenticate'];
  /** Lets in a call, once its request has arrived. Health checks and reflection are always let in. */
  readonly admission: Pick<Admission, 'enter'>;
  readonly logger: Logger;
  /** Asked by every health check, and each second while somebody watches: whether calls should be sent here. */
  readonly isReady: () => boolean;
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

/** Makes a server of these services, not listening yet. Throws when the files for TLS cannot be used. */
export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const { services, authenticate, admission, logger, isReady, tls } = options;
  const server = new Server(LIMITS);
  const credentials = credentialsOf(tls);
  const stop = new AbortController();
  const fail = (thrown: unknown) => statusOf(failureOf(thrown, logger));
  for (const service of services)
    server.addService(
      definitionOf(service.desc),
      handlersOf(service, { authenticate, admission, statusOf: fail, stop: stop.signal }),
    );
  const descs = services.map(({ desc }) => desc);
  const names = descs.map(({ typeName }) => typeName);
  const health = new GrpcHealth(names, isReady);
  health.addTo(server);
  addReflection(server, descs);

  return {
    listen: (host, port) =>
      new Promise((resolve, reject) => {
        const name = host.includes(':') ? `[${host}]` : host;
        server.bindAsync(`${name}:${port}`, credentials, (error, bound) => {
          if (error === null) resolve(`${name}:${bound}`);
          else reject(error);
        });
      }),

    drain: (milliseconds) =>
      new Promise((resolve) => {
        health.close();
        const close = () => {
          server.forceShutdown();
          resolve();
        };
        let timer = setTimeout(() => {
          stop.abort();
          timer = setTimeout(close, FAREWELL);
        }, milliseconds);
        server.tryShutdown(() => {
          clearTimeout(timer);
          resolve();
        });
      }),
  };
}
