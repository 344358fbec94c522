import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { status } from '@grpc/grpc-js';
import type { Principal } from '../auth/principal.ts';
import type { PlantStoreError } from '../domain/errors.ts';

/** The protocols of requests. */
export const PROTOCOLS = ['rest', 'connect', 'grpc_web', 'grpc'] as const;

/** The protocol of a request, as logs and metrics name it. */
export type Protocol = (typeof PROTOCOLS)[number];

/** Why a request is shed: a wait too long for the CPU, a permit, or one of its owner's; or too much memory. */
export const SHED_REASONS = ['cpu', 'in_flight', 'owner', 'memory'] as const;

/** Why a request was shed, as metrics name it. */
export type ShedReason = (typeof SHED_REASONS)[number];

/** The route of every request that has none, so that clients cannot create metrics. */
export const UNMATCHED = 'unmatched';

/** A request that has ended. Contains no text from the client, except a short and plain request id. */
export interface EndedRequest {
  readonly protocol: Protocol;
  /** The HTTP method; `_OTHER` for an unsupported one. */
  readonly method: string;
  /**
   * The template of its path, such as `/plants/{id}` or `/package.Service/Method`; UNMATCHED if there is none. That of
   * a stream of changes ends in ` (watch)`, so that nobody takes how long it was read for the time of a list.
   */
  readonly route: string;
  /** The HTTP status, 499 if the client left; for gRPC and Connect the name of the google.rpc.Code. */
  readonly status: string;
  readonly seconds: number;
  /** Bytes sent: over HTTP/1.1 with headers, over gRPC the messages. */
  readonly bytes: number;
  readonly requestId: string;
  readonly principal: Principal | undefined;
  /** The error of a failed request; undefined if it succeeded, or failed without a PlantStoreError. */
  readonly failure: PlantStoreError | undefined;
  /** Id of its trace; undefined while traces are off. */
  readonly traceId: string | undefined;
}

/** The name of a google.rpc.Code. */
export const codeName = (code: number): string => status[code] ?? 'UNKNOWN';

/** A client's request id that can be logged as it is. */
const CLIENT_REQUEST_ID = /^[\w.-]{1,64}$/;

/** The id of a request: the client's if it is short and plain, otherwise a new one. */
export const requestIdOf = (asked: unknown): string =>
  typeof asked === 'string' && CLIENT_REQUEST_ID.test(asked) ? asked : randomUUID();

/** The id of an HTTP request. The client may set it as `X-Request-Id`. */
export const requestId = ({ headers }: IncomingMessage): string => requestIdOf(headers['x-request-id']);
