import type { EndedRequest } from './request.ts';
import type { Tracing } from './tracing/tracing.ts';

/** Who watches the requests of every transport. */
export interface RequestObserver {
  /** Hears of each request once, when it is over. */
  ended(request: EndedRequest): void;
  /** Undefined while traces are off. */
  readonly tracing?: Tracing | undefined;
}
