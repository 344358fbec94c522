import type { Submit } from '../../log/commit/committer.ts';
import type { EventLog } from '../../log/log.ts';
import type { AppendedBatch } from '../../log/observer.ts';
import type { EndedRequest, Protocol } from '../request.ts';

/** A request as its headers describe it. */
export interface StartedRequest {
  readonly protocol: Protocol;
  readonly method: string;
  readonly route: string;
  /** By names in lower case; the caller's context is in `traceparent` and `tracestate` (W3C Trace Context). */
  readonly headers: Readonly<Record<string, unknown>>;
}

/** The span of a request. */
export interface RequestSpan {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** Calls a function for which, and for all that it awaits, this span is the parent. */
  run(work: () => void): void;
  end(request: Pick<EndedRequest, 'protocol' | 'status'>): void;
}

/** What of the log becomes spans. */
export type Commands = Pick<EventLog, 'submit' | 'list' | 'get'>;

/** Traces of requests and of the commands in them. */
export interface Tracing {
  /** Begins the span of a request: a child of the caller's, where the headers name one. */
  begin(request: StartedRequest): RequestSpan;
  /**
   * The log with a span around each command, which says at what position it is and in which batch it rode. The command's event
   * has the span as its `traceparent`, if the trace is sampled.
   */
  commands(log: Commands): Commands;
  /**
   * The same for commands that other instances sent to this one, the writer: the span is a child of that of the command where it
   * came in, which says nothing of a batch then.
   */
  taken(submit: Submit): Submit;
  /** Has to hear of each append, so that the span of a command knows its batch. */
  appended(batch: AppendedBatch): void;
  /** Sends what is left, for a moment at most. */
  close(): Promise<void>;
}
