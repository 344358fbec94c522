import { type ContextValues, createContextValues } from '@connectrpc/connect';
import type { ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import { type CallContext, idempotencyHeaderKey, principalKey } from '../../plants/call.ts';
import { type ServedCall, servedCallOf } from './served-call.ts';

/** A call as grpc-js hands it to a handler. */
export type ServerCall = ServerUnaryCall<object, object> | ServerWritableStream<object, object>;

/** A call of the service that came over gRPC. */
export class GrpcCall implements CallContext {
  readonly values: ContextValues;
  readonly #served: ServedCall;

  constructor(call: ServerCall) {
    this.#served = servedCallOf(call.metadata);
    this.values = createContextValues().set(principalKey, this.#served.observed.principal);
    const idempotencyKeys = call.metadata.get('idempotency-key') as string[];
    if (idempotencyKeys.length > 0) this.values.set(idempotencyHeaderKey, idempotencyKeys);
  }

  /** See ServedCall.signal. */
  get signal(): AbortSignal {
    return this.#served.signal;
  }
}
