import type { DescMethod } from '@bufbuild/protobuf';
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  type ServerUnaryCall,
  type ServerWritableStream,
  type StatusObject,
} from '@grpc/grpc-js';
import { REPLAYED_HEADER, type Service } from '../../call.ts';
import { stopping } from '../failure.ts';
import { serializer } from './definition.ts';
import { type ServedCall, servedCallOf } from './served-call.ts';

/** Options that the handlers of all methods share. */
export interface HandlerOptions {
  /** The status for any value thrown in a call. */
  readonly statusOf: (thrown: unknown, call: ServerCall) => StatusObject;
  /** Aborts when streams must end because the server stops. */
  readonly stop: AbortSignal;
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
type UnaryMethod = (request: object, call: ServedCall) => Promise<object>;
type StreamingMethod = (request: object, call: ServedCall) => AsyncIterable<object>;

function unary(method: UnaryMethod, encode: Encode, { statusOf }: HandlerOptions): handleUnaryCall<object, object> {
  return (call, callback) => {
    const served = servedCallOf(call.metadata);
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
  { statusOf, stop }: HandlerOptions,
): handleServerStreamingCall<object, object> {
  const send = async (call: ServerWritableStream<object, object>) => {
    for await (const response of method(call.request, servedCallOf(call.metadata))) {
      await write(call, encode(response));
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
function write(call: ServerWritableStream<object, object>, message: object): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      call.off('close', done);
      resolve();
    };
    call.once('close', done);
    call.write(message, done);
  });
}

/** A call as grpc-js passes it to a handler. */
export type ServerCall = ServerUnaryCall<object, object> | ServerWritableStream<object, object>;
