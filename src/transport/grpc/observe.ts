import { performance } from 'node:perf_hooks';
import type { Metadata, ServerInterceptor, ServiceDefinition } from '@grpc/grpc-js';
import { ServerInterceptingCall, ServerListenerBuilder, status as Status } from '@grpc/grpc-js';
import type { Principal } from '../../auth/principal.ts';
import { codeName } from '../../observe/request.ts';
import type { RequestObserver } from '../../observe/request-observer.ts';
import type { RequestSpan } from '../../observe/tracing.ts';
import { requestIdOf } from '../rest/request-id.ts';

const OBSERVED = 'plantstore.observed';

/** What is known of a call while it is served. It goes along with the call's metadata. */
export class ObservedCall {
  /** The client's `x-request-id` when it is short and plain, else a new one. */
  readonly requestId: string;
  /** Who was let in. */
  principal: Principal | undefined;
  /** Of the messages that were sent. */
  bytes = 0;
  /** The google.rpc.Code of the answer; undefined while there is none. */
  code: number | undefined;

  constructor(requestId: string) {
    this.requestId = requestId;
  }
}

/** What is observed of the call with this metadata; undefined when nobody observes it. */
export const observedOf = (metadata: Metadata): ObservedCall | undefined =>
  metadata.getOpaque(OBSERVED) as ObservedCall | undefined;

const sizes = new WeakMap<object, number>();

/** The definition, whose responses are measured as they are sent. */
export const measured = (definition: ServiceDefinition): ServiceDefinition =>
  Object.fromEntries(
    Object.entries(definition).map(([name, method]) => {
      const responseSerialize = (message: object) => {
        const bytes = method.responseSerialize(message);
        sizes.set(message, bytes.byteLength);
        return bytes;
      };
      return [name, { ...method, responseSerialize }];
    }),
  );

/**
 * An interceptor that tells of each call of these services once, when it is over. A call that ended before it was answered here
 * was given up by its client, or refused by grpc-js before there was a whole message, and counts as CANCELLED or
 * DEADLINE_EXCEEDED. Health checks and reflection are not told of.
 */
export function observeCalls(services: readonly ServiceDefinition[], observer: RequestObserver): ServerInterceptor {
  const paths = new Set(services.flatMap((service) => Object.values(service).map(({ path }) => path)));
  return ({ path: route }, call) => {
    if (!paths.has(route)) return new ServerInterceptingCall(call);
    const begun = performance.now();
    let observed: ObservedCall;
    let span: RequestSpan | undefined;
    const listener = new ServerListenerBuilder()
      .withOnReceiveMetadata((metadata, next) => {
        observed = new ObservedCall(requestIdOf(metadata.get('x-request-id')[0]));
        metadata.setOpaque(OBSERVED, observed);
        span = observer.tracing?.begin({ protocol: 'grpc', method: 'POST', route, headers: metadata.getMap() });
        next(metadata);
      })
      // grpc-js says so at the end of every call.
      .withOnCancel(() => {
        const expired = Number(call.getDeadline()) <= Date.now();
        const { code = expired ? Status.DEADLINE_EXCEEDED : Status.CANCELLED, bytes, requestId, principal } = observed;
        const status = codeName(code);
        span?.end({ protocol: 'grpc', status });
        observer.ended({
          protocol: 'grpc',
          method: 'POST',
          route,
          status,
          seconds: (performance.now() - begun) / 1000,
          bytes,
          requestId,
          principal,
          traceId: span?.traceId,
        });
      });
    // The handler is called once the request is whole.
    if (observer.tracing) listener.withOnReceiveHalfClose((next) => span?.run(next));
    return new ServerInterceptingCall(call, {
      start: (next) => next(listener.build()),
      sendMessage: (message, next) => {
        next(message);
        observed.bytes += sizes.get(message) ?? 0;
      },
      sendStatus: (status, next) => {
        observed.code ??= status.code ?? Status.UNKNOWN;
        next(status);
      },
    });
  };
}
