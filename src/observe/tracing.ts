import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Attributes,
  context,
  DiagLogLevel,
  diag,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { toPlantStoreError } from '../domain/errors.ts';
import { RETURNED, type Submit } from '../log/commit/committer.ts';
import type { Committed } from '../log/event/event.ts';
import type { EventLog } from '../log/log.ts';
import type { Logger } from './logger.ts';
import { type EndedRequest, UNMATCHED } from './request.ts';

/** Most milliseconds to send the last spans. */
const FLUSH_LIMIT = 3_000;

/** RPC codes that count as server errors by OpenTelemetry's conventions for gRPC. */
const SERVER_FAULTS = new Set([
  'UNKNOWN',
  'DEADLINE_EXCEEDED',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
]);

interface StartedRequest extends Pick<EndedRequest, 'protocol' | 'method' | 'route'> {
  /** By lower-case name. `traceparent` and `tracestate` have the caller's context (W3C Trace Context). */
  readonly headers: Readonly<Record<string, unknown>>;
}

/** The span of a request. */
export type RequestSpan = ReturnType<Tracing['begin']>;

type Commands = Pick<EventLog, 'submit' | 'list' | 'get'>;

/** Traces of requests and their commands, with OpenTelemetry's SDK. Spans contain no text from clients. */
export class Tracing {
  readonly #sdk: NodeSDK;
  readonly #tracer: Tracer;

  constructor(logger: Logger, serviceName: string | undefined) {
    this.#sdk = new NodeSDK({
      ...(serviceName !== undefined && { serviceName }),
      metricReaders: [],
      logRecordProcessors: [],
    });
    const warn = (message: string) => logger.warn({ detail: message }, 'traces');
    const ignore = () => {};
    diag.setLogger(
      { error: warn, warn, info: ignore, debug: ignore, verbose: ignore },
      { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
    );
    this.#sdk.start();
    this.#tracer = trace.getTracer('plantstore');
  }

  /** Begins the span of a request: a child of the caller's span, if the headers name one. */
  begin({ protocol, method, route, headers }: StartedRequest) {
    const parent = propagation.extract(ROOT_CONTEXT, headers);
    const [name, attributes] = protocol === 'rest' ? httpOf(method, route) : rpcOf(protocol, route);
    const span = this.#tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
    const active = trace.setSpan(parent, span);
    return {
      traceId: span.spanContext().traceId,
      /** Calls a function with this span as the parent of its spans, including asynchronous ones. */
      run: (work: () => void) => context.with(active, work),
      end: (request: Pick<EndedRequest, 'protocol' | 'status'>) => {
        const { status } = request;
        // What is no call of a method yet, such as a wrong content type over Connect, has a status of HTTP alone.
        const isHttp = /^\d+$/.test(status);
        const shown = request.protocol === 'connect' ? connectCode(status) : status;
        span.setAttributes(isHttp ? { 'http.response.status_code': Number(status) } : { 'rpc.status_code': shown });
        if (isHttp ? status >= '500' : SERVER_FAULTS.has(status)) fail(span, shown);
        span.end();
      },
    };
  }

  /** The log with a span around each command. The event has the span as its `traceparent`, if it is sampled. */
  commands(log: Commands): Commands {
    return {
      list: (query) => log.list(query),
      get: (key) => log.get(key),
      submit: (command, ...rest) =>
        this.#submit(this.#tracer.startSpan(command.type), (traceparent) =>
          log.submit({ ...command, traceparent }, ...rest),
        ),
    };
  }

  /** The same for commands that other instances forward to this one, as children of their spans there. */
  taken(submit: Submit): Submit {
    return (command, ...rest) => {
      // The sending instance does not trace it.
      if (command.traceparent === undefined) return submit(command, ...rest);
      const parent = propagation.extract(ROOT_CONTEXT, { traceparent: command.traceparent });
      const span = this.#tracer.startSpan(`${command.type} forwarded`, { kind: SpanKind.SERVER }, parent);
      return this.#submit(span, (traceparent) => submit({ ...command, traceparent }, ...rest));
    };
  }

  async #submit<Event extends Committed>(
    span: Span,
    submit: (traceparent: string | undefined) => Promise<Event>,
  ): Promise<Event> {
    try {
      const event = await submit(traceparentOf(span));
      span.setAttribute('plantstore.position', event.position);
      return event;
    } catch (thrown) {
      fail(span, thrown === RETURNED ? 'RETURNED' : toPlantStoreError(thrown).reason);
      throw thrown;
    } finally {
      span.end();
    }
  }

  /** Sends the remaining spans, for at most a few seconds. */
  async close(): Promise<void> {
    await Promise.race([this.#sdk.shutdown().catch(() => {}), sleep(FLUSH_LIMIT, undefined, { ref: false })]);
  }
}

/** What a method is called that the service does not know. */
const OTHER = '_OTHER';

/** Name and attributes of the span of a request. Neither has a route if there is none. */
function httpOf(method: string, route: string): [string, Attributes] {
  const known = route === UNMATCHED ? [] : [route];
  const name = [method === OTHER ? 'HTTP' : method, ...known].join(' ');
  return [name, { 'http.request.method': method, 'http.route': known[0], 'url.scheme': 'http' }];
}

/** Name and attributes of the span of a call, whose route is `/package.Service/Method`. */
function rpcOf(protocol: string, route: string): [string, Attributes] {
  const system = protocol === 'connect' ? 'connectrpc' : 'grpc';
  const method = route === UNMATCHED ? OTHER : route.replace(/^\//, '');
  return [method === OTHER ? system : method, { 'rpc.system.name': system, 'rpc.method': method }];
}

/** The code of Connect, by the name of a google.rpc.Code (connectrpc.com/docs/protocol), which has none for success. */
const connectCode = (name: string): string =>
  name === 'OK' ? name : name === 'CANCELLED' ? 'canceled' : name.toLowerCase();

/** The `traceparent` of a span (W3C Trace Context, section 3.2). Undefined for a span that is not exported. */
function traceparentOf(span: Span): string | undefined {
  const { traceId, spanId, traceFlags } = span.spanContext();
  const isKept = span.isRecording() && (traceFlags & TraceFlags.SAMPLED) !== 0;
  return isKept ? `00-${traceId}-${spanId}-01` : undefined;
}

/** Records only the type of an error, because its message may quote a client. */
function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
