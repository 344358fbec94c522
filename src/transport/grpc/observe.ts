import { performance } from 'node:perf_hooks';
import { type Metadata, status as Status } from '@grpc/grpc-js';
import type { Principal } from '../../auth/principal.ts';
import type { PlantStoreError } from '../../domain/errors.ts';
import { codeName } from '../../observe/request.ts';
import type { RequestObserver } from '../../observe/request-observer.ts';
import type { RequestSpan } from '../../observe/tracing/tracing.ts';
import { requestIdOf } from '../request-id.ts';

/** What is known of a call while it is served, to be told once it is over. */
export class ObservedCall {
  readonly #observer: RequestObserver | undefined;
  readonly #route: string;
  readonly #begun = performance.now();
  #metadata: Metadata | undefined;
  #requestId: string | undefined;
  #span: RequestSpan | undefined;
  /** Who was let in. */
  principal: Principal | undefined;
  /** Of the messages that were sent. */
  bytes = 0;
  /** What it failed of, as far as that was told here. */
  failure: PlantStoreError | undefined;
  /** The google.rpc.Code of the answer; undefined while there is none. */
  code: number | undefined;

  constructor(observer: RequestObserver | undefined, route: string) {
    this.#observer = observer;
    this.#route = route;
  }

  /** The client's `x-request-id` when it is short and plain, else a new one. Made when it is asked for. */
  get requestId(): string {
    this.#requestId ??= requestIdOf(this.#metadata?.get('x-request-id')[0]);
    return this.#requestId;
  }

  /** Its metadata is there. */
  received(metadata: Metadata): void {
    this.#metadata = metadata;
    this.#span = this.#observer?.tracing?.begin({
      protocol: 'grpc',
      method: 'POST',
      route: this.#route,
      headers: metadata.getMap(),
    });
  }

  /** Calls the handler, as part of the span of the call while there are traces. */
  run(handle: () => void): void {
    if (this.#span === undefined) handle();
    else this.#span.run(handle);
  }

  /**
   * Tells of it. `deadline`: of its client, in milliseconds since 1970. A call without a code was given up by its client, or
   * refused by grpc-js before there was a whole message, and counts as CANCELLED or DEADLINE_EXCEEDED.
   */
  ended(deadline: number): void {
    if (this.#observer === undefined) return;
    const call = this;
    const code = this.code ?? (deadline <= Date.now() ? Status.DEADLINE_EXCEEDED : Status.CANCELLED);
    const status = codeName(code);
    this.#span?.end({ protocol: 'grpc', status });
    this.#observer.ended({
      protocol: 'grpc',
      method: 'POST',
      route: this.#route,
      status,
      seconds: (performance.now() - this.#begun) / 1000,
      bytes: this.bytes,
      get requestId() {
        return call.requestId;
      },
      principal: this.principal,
      failure: this.failure,
      traceId: this.#span?.traceId,
    });
  }
}
