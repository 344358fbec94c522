import { type ContextValues, createContextValues } from '@connectrpc/connect';
import type { ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import type { Principal } from '../../auth/principal.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import { type CallContext, idempotencyHeaderKey, principalKey } from '../../plants/call.ts';
import { observedOf } from './observe.ts';

/** A call as grpc-js hands it to a handler. */
export type ServerCall = ServerUnaryCall<object, object> | ServerWritableStream<object, object>;

/** A call of the service that came over gRPC. */
export class GrpcCall implements CallContext {
  readonly values: ContextValues;
  readonly #call: ServerCall;
  #signal: AbortSignal | undefined;

  constructor(principal: Principal, call: ServerCall) {
    this.values = createContextValues().set(principalKey, principal);
    const idempotencyKeys = call.metadata.get('idempotency-key') as string[];
    if (idempotencyKeys.length > 0) this.values.set(idempotencyHeaderKey, idempotencyKeys);
    this.#call = call;
    const observed = observedOf(call.metadata);
    if (observed !== undefined) observed.principal = principal;
  }

  /** Aborted when the caller cancels, goes away or lets its deadline pass, and when the call is over. Made when it is asked for. */
  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.#call);
    return this.#signal;
  }
}

// One for all calls: grpc-js says "cancelled" at the end of every call, and an error of its own costs each a stack trace.
const OVER = new PlantStoreError('CANCELLED', 'the call is over');

function signalOf(call: ServerCall): AbortSignal {
  if (call.cancelled) return AbortSignal.abort(OVER);
  const controller = new AbortController();
  call.once('cancelled', () => controller.abort(OVER));
  return controller.signal;
}
