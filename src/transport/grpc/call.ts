import type { ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import type { Principal } from '../../auth/principal.ts';
import type { StreamingCall } from '../../call.ts';
import { type ServedCall, servedCallOf } from './served-call.ts';

/** A call as grpc-js passes it to a handler. */
export type ServerCall = ServerUnaryCall<object, object> | ServerWritableStream<object, object>;

/** A call of the service over gRPC. */
export class GrpcCall implements StreamingCall {
  readonly principal: Principal;
  readonly idempotencyKey: readonly string[] | undefined;
  replayed = false;
  readonly #served: ServedCall;

  constructor(call: ServerCall) {
    this.#served = servedCallOf(call.metadata);
    this.principal = this.#served.observed.principal!;
    const idempotencyKeys = call.metadata.get('idempotency-key') as string[];
    this.idempotencyKey = idempotencyKeys.length > 0 ? idempotencyKeys : undefined;
  }

  /** See ServedCall.signal. */
  get signal(): AbortSignal {
    return this.#served.signal;
  }

  lasts(): void {
    this.#served.lasts();
  }
}
