import { performance } from 'node:perf_hooks';
import { type Metadata, status as Status } from '@grpc/grpc-js';
import type { Principal } from '../../auth/principal.ts';
import type { PlantStoreError } from '../../domain/errors.ts';
import { codeName, requestIdOf } from '../../observe/request.ts';
import type { RequestObserver } from '../../observe/telemetry.ts';
import type { RequestSpan } from '../../observe/tracing.ts';

/** Collects what is known of a call while it is served, and reports it once the call is over. */
export class ObservedCall {
  readonly #observer: RequestObserver | undefined;
  readonly #route: string;
  readonly #begun = performance.now();
  #metadata: Metadata | undefined;
  #requestId: string | undefined;
  #span: RequestSpan | undefined;
  /** The authenticated caller. */
  principal: Principal | undefined;
  /** Bytes of the sent messages. */
  bytes = 0;
  /** The error of a failed call, as far as it was reported here. */
  failure: PlantStoreError | undefined;
  /** The google.rpc.Code of the answer. Undefined while there is none. */
  code: number | undefined;

  constructor(observer: RequestObserver | undefined, route: string) {
    this.#observer = observer;
    this.#route = route;
  }

  /** The client's `x-request-id` if it is short and plain, otherwise a new one. Made on first use. */
  get requestId(): string {
    this.#requestId ??= requestIdOf(this.#metadata?.get('x-request-id')[0]);
    return this.#requestId;
  }

  /** Takes the metadata of the call. */
  received(metadata: Metadata): void {
    this.#metadata = metadata;
    this.#span = this.#observer?.tracing?.begin({
      protocol: 'grpc',
      method: 'POST',
      route: this.#route,
      headers: metadata.getMap(),
    });
  }

  /** Calls the handler, inside the call's span when tracing is on. */
  run(handle: () => void): void {
    if (this.#span === undefined) handle();
    else this.#span.run(handle);
  }

  /**
   * Reports the call. `isLate`: its deadline is over. A call has no code when its client gave it up, or when grpc-js
   * refused it before its message was complete. It counts as CANCELLED or DEADLINE_EXCEEDED.
   */
  ended(isLate: boolean): void {
    if (this.#observer === undefined) return;
    const code = this.code ?? (isLate ? Status.DEADLINE_EXCEEDED : Status.CANCELLED);
    const status = codeName(code);
    this.#span?.end({ protocol: 'grpc', status });
    this.#observer.ended({
      protocol: 'grpc',
      method: 'POST',
      route: this.#route,
      status,
      seconds: (performance.now() - this.#begun) / 1000,
      bytes: this.bytes,
      requestId: this.requestId,
      principal: this.principal,
      failure: this.failure,
      traceId: this.#span?.traceId,
    });
  }
}
