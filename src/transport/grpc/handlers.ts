import { addAbortListener } from 'node:events';
import type { DescMethod } from '@bufbuild/protobuf';
import { Metadata, status } from '@grpc/grpc-js';
import { REPLAYED_HEADER, type Service } from '../../call.ts';
import { stopping } from '../failure.ts';
import { serializer } from './definition.ts';
import type { Answer, ServedCall } from './served-call.ts';

type Encode = (message: object) => Buffer;
type UnaryMethod = (request: object, call: ServedCall) => Promise<object>;
type StreamingMethod = (request: object, call: ServedCall) => AsyncIterable<object>;

const OK = { code: status.OK, details: 'OK', metadata: null };
const REPLAYED = { ...OK, metadata: new Metadata() };
REPLAYED.metadata.set(REPLAYED_HEADER, 'true');

/** What answers the calls of a method, until `stop` aborts. Throws for a method that is missing or takes streams. */
export function answerOf({ methods }: Service, method: DescMethod, stop: AbortSignal): Answer {
  const implementation: unknown = methods[method.localName];
  if (implementation === undefined) throw new Error(`${method} has no implementation`);
  switch (method.methodKind) {
    case 'unary':
      return unary(implementation as UnaryMethod, serializer(method.output));
    case 'server_streaming':
      return serverStreaming(implementation as StreamingMethod, serializer(method.output), stop);
    default:
      throw new Error(`${method} streams its requests, which is not served`);
  }
}

const unary =
  (method: UnaryMethod, encode: Encode): Answer =>
  async (request, call) => {
    const response = encode(await method(request, call));
    call.sendMessage(response, () => call.sendStatus(call.replayed ? REPLAYED : OK));
  };

/** A slow reader makes the server hold one message at a time. */
const serverStreaming =
  (method: StreamingMethod, encode: Encode, stop: AbortSignal): Answer =>
  async (request, call) => {
    using _breaksOff = addAbortListener(stop, () => call.failed(stopping()));
    for await (const response of method(request, call)) {
      await new Promise<void>((resolve) => call.sendMessage(encode(response), resolve));
      if (call.isOver) return;
    }
    call.sendStatus(OK);
  };
