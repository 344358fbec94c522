import type { Submit } from '../../log/commit/committer.ts';
import type { EventLog } from '../../log/log.ts';
import type { AppendedBatch } from '../../log/observer.ts';
import type { EndedRequest, Protocol } from '../request.ts';

/** A request as its headers describe it. */
export interface StartedRequest {
  readonly protocol: Protocol;
  readonly method: string;
  readonly route: string;
  /** By lower-case name. `traceparent` and `tracestate` have the caller's context (W3C Trace Context). */
  readonly headers: Readonly<Record<string, unknown>>;
}

/** The span of a request. */
export interface RequestSpan {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** Calls a function with this span as the parent of its spans, including asynchronous ones. */
  run(work: () => void): void;
  end(request: Pick<EndedRequest, 'protocol' | 'status'>): void;
}

/** The methods of the log that have spans. */
export type Commands = Pick<EventLog, 'submit' | 'list' | 'get'>;

/** Traces of requests and of the commands in them. */
export interface Tracing {
  /** Begins the span of a request: a child of the caller's span, if the headers name one. */
  begin(request: StartedRequest): RequestSpan;
  /**
   * The log with a span around each command. The span has the position of the event and its batch. If the trace is
   * sampled, the event has the span as its `traceparent`.
   */
  commands(log: Commands): Commands;
  /**
   * The same for commands that other instances forward to this one. The span is a child of the command's span on the
   * other instance, which then has no batch.
   */
  taken(submit: Submit): Submit;
  /** Must be called for each append, so that the span of a command can have its batch. */
  appended(batch: AppendedBatch): void;
  /** Sends the remaining spans, for at most a few seconds. */
  close(): Promise<void>;
}
