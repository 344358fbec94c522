import type { DescMethod } from '@bufbuild/protobuf';
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  type ServerUnaryCall,
  type ServerWritableStream,
  type StatusObject,
} from '@grpc/grpc-js';
import type { Principal } from '../../auth/principal.ts';
import { REPLAYED_HEADER, type Service, type StreamingCall } from '../../call.ts';
import { stopping } from '../failure.ts';
import { serializer } from './definition.ts';
import { type ServedCall, servedCallOf } from './served-call.ts';

/** Options that the handlers of all methods share. */
export interface HandlerOptions {
  /** The status for any value thrown in a call. */
  readonly statusOf: (thrown: unknown, call: ServerCall) => StatusObject;
  /** Aborts when streams must end because the server stops. */
  readonly stop: AbortSignal;
  /** Seconds for a client to read a message of a stream. */
  readonly idleTimeout: number;
}

type Handler = handleUnaryCall<object, object> | handleServerStreamingCall<object, object>;

/** The handlers of a service by local name, for grpc-js. Throws when a method is missing or of an unsupported kind. */
export const handlersOf = ({ desc, methods }: Service, options: HandlerOptions): Record<string, Handler> =>
  Object.fromEntries(
    desc.methods.map((method) => [method.localName, handlerOf(method, methods[method.localName], options)]),
  );

function handlerOf(method: DescMethod, implementation: unknown, options: HandlerOptions): Handler {
  if (implementation === undefined) throw new Error(`${method} has no implementation`);
  switch (method.methodKind) {
    case 'unary':
      return unary(implementation as UnaryMethod, serializer(method.output), options);
    case 'server_streaming':
      return serverStreaming(implementation as StreamingMethod, serializer(method.output), options);
    default:
      throw new Error(`${method} streams its requests, which is not served`);
  }
}

type Encode = (message: object) => Buffer;
type UnaryMethod = (request: object, call: GrpcCall) => Promise<object>;
type StreamingMethod = (request: object, call: GrpcCall) => AsyncIterable<object>;

function unary(method: UnaryMethod, encode: Encode, { statusOf }: HandlerOptions): handleUnaryCall<object, object> {
  return (call, callback) => {
    const served = new GrpcCall(call);
    const answer = async () => encode(await method(call.request, served));
    answer().then(
      (response) => callback(null, response, served.replayed ? replayedTrailer() : undefined),
      (thrown) => callback(statusOf(thrown, call)),
    );
  };
}

function replayedTrailer(): Metadata {
  const trailer = new Metadata();
  trailer.set(REPLAYED_HEADER, 'true');
  return trailer;
}

function serverStreaming(
  method: StreamingMethod,
  encode: Encode,
  options: HandlerOptions,
): handleServerStreamingCall<object, object> {
  const { statusOf, stop } = options;
  const send = async (call: ServerWritableStream<object, object>) => {
    for await (const response of method(call.request, new GrpcCall(call))) {
      await write(call, encode(response), options.idleTimeout);
      if (call.cancelled) return;
    }
    call.end();
  };
  return (call) => {
    const fail = (thrown: unknown) => call.emit('error', statusOf(thrown, call));
    const breakOff = () => fail(stopping());
    stop.addEventListener('abort', breakOff);
    call.once('close', () => stop.removeEventListener('abort', breakOff));
    send(call).catch(fail);
  };
}

/**
 * Resolves when the message is on its way or the call is over. So a slow reader makes the server hold one message at a
 * time.
 */
function write(call: ServerWritableStream<object, object>, message: object, idleTimeout: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => servedCallOf(call.metadata).reset(), idleTimeout * 1_000);
    const done = () => {
      clearTimeout(timer);
      call.off('close', done);
      resolve();
    };
    call.once('close', done);
    call.write(message, done);
  });
}

/** A call as grpc-js passes it to a handler. */
export type ServerCall = ServerUnaryCall<object, object> | ServerWritableStream<object, object>;

/** A call of the service over gRPC. */
class GrpcCall implements StreamingCall {
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

  beginStream(): void {
    this.#served.beginStream();
  }
}
