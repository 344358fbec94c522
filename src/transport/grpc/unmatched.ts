import { type handleBidiStreamingCall, type Server, ServerInterceptingCall, status as Status } from '@grpc/grpc-js';
import { UNMATCHED } from '../../observe/request.ts';
import type { RequestObserver } from '../../observe/request-observer.ts';
import { type BaseCall, endStream } from './base-call.ts';
import { ObservedCall } from './observe.ts';

interface Handler {
  readonly path: string;
  /** `bidi` handlers are called at the headers, so that they answer without a message. */
  readonly type: 'bidi';
  readonly func: handleBidiStreamingCall<unknown, unknown>;
  readonly serialize: () => Buffer;
  readonly deserialize: () => unknown;
}

/** A private member of the server. It returns null for a path without a method. A test shows that it is asked. */
interface Internals {
  _retrieveHandler(path: string): Handler | null;
}

/**
 * Makes calls of methods that nobody serves reach the server's interceptors, all under the one path UNMATCHED. The
 * library would answer them before any interceptor, in the same words.
 */
export function interceptUnmatched(server: Server): void {
  const internals = server as unknown as Internals;
  const retrieve = internals._retrieveHandler.bind(server);
  internals._retrieveHandler = (path) => retrieve(path) ?? unimplemented(path);
}

const unimplemented = (path: string): Handler => ({
  path: UNMATCHED,
  type: 'bidi',
  func: (call) => {
    call.emit('error', {
      code: Status.UNIMPLEMENTED,
      details: `The server does not implement the method ${path}`,
    });
  },
  serialize: () => Buffer.alloc(0),
  deserialize: () => undefined,
});

/**
 * A call of a method that nobody serves: it is reported, and nothing of it is read. It needs no place, because it is
 * over at once.
 */
export function unmatchedCall(call: BaseCall, observer: RequestObserver | undefined): ServerInterceptingCall {
  const observed = new ObservedCall(observer, UNMATCHED);
  return new ServerInterceptingCall(call, {
    start: (begin) =>
      begin({
        onReceiveMetadata: (metadata, next) => {
          observed.received(metadata);
          next(metadata);
        },
        onCancel: () => observed.ended(Number(call.getDeadline())),
      }),
    sendStatus: (status, next) => {
      observed.code = status.code;
      next(status);
      endStream(call);
    },
  });
}
