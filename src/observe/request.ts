import type { Principal } from '../auth/principal.ts';
import { Refusal } from '../auth/refusal.ts';
import type { PlantStoreError } from '../domain/errors.ts';

/** What a request can come in as. */
export const PROTOCOLS = ['rest', 'connect', 'grpc_web', 'grpc'] as const;

/** What a request came in as. */
export type Protocol = (typeof PROTOCOLS)[number];

/**
 * Why nothing can be done for a request: it has waited too long for others to end, or for the CPU; there was no place in the queue;
 * its owner, or its connection, has too many; too many are on their way; or its client left before.
 */
export const SHED_REASONS = ['in_flight', 'cpu', 'queue', 'owner', 'arrival', 'gone'] as const;

/** Why nothing was done for a request. */
export type ShedReason = (typeof SHED_REASONS)[number];

/** A request that is over. None of it is text of the client's, but for a request id that is short and plain. */
export interface EndedRequest {
  readonly protocol: Protocol;
  /** The HTTP method; `_OTHER` for one that nothing here answers to. */
  readonly method: string;
  /** The template of its path, such as `/plants/{id}` or `/package.Service/Method`; `unmatched` when there is none. */
  readonly route: string;
  /** The HTTP status, 499 when it was broken off; for a call of gRPC or Connect the name of its google.rpc.Code. */
  readonly status: string;
  readonly seconds: number;
  /** That were sent: over HTTP/1.1 with the headers, over gRPC the messages. */
  readonly bytes: number;
  readonly requestId: string;
  /** Who was let in. */
  readonly principal: Principal | undefined;
  /** What it failed of; undefined when it did not, or when whoever refused it gave no error of ours. */
  readonly failure: PlantStoreError | undefined;
  /** Of the trace that it belongs to, while there are traces. */
  readonly traceId: string | undefined;
}

/** What a line of the log says of a failure: the stable reason, as its caller got it, and why a token was refused. */
export const failureFields = (failure: PlantStoreError): { reason: string; why?: string } => ({
  reason: failure.reason,
  ...(failure instanceof Refusal && { why: failure.why }),
});

const CODES = [
  ...['OK', 'CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS'],
  ...['PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION', 'ABORTED', 'OUT_OF_RANGE', 'UNIMPLEMENTED'],
  ...['INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED'],
];

/** The name of a google.rpc.Code. */
export const codeName = (code: number): string => CODES[code] ?? 'UNKNOWN';
