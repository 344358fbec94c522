import type { EndedRequest } from './request.ts';
import type { Tracing } from './tracing/tracing.ts';

/** Observes the requests of every transport. */
export interface RequestObserver {
  /** Called once for each request, when it has ended. */
  ended(request: EndedRequest): void;
  /** Undefined while traces are off. */
  readonly tracing?: Tracing | undefined;
}
