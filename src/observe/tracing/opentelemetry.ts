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
import { toPlantStoreError } from '../../domain/errors.ts';
import { RETURNED, type Submit } from '../../log/commit/committer.ts';
import type { Committed } from '../../log/event/event.ts';
import type { AppendedBatch } from '../../log/observer.ts';
import type { Logger } from '../logger.ts';
import type { Commands, RequestSpan, StartedRequest, Tracing } from './tracing.ts';

/** Most milliseconds to send the last spans. */
const FAREWELL = 3_000;

/** RPC codes that count as server errors by OpenTelemetry's conventions for gRPC. */
const SERVER_FAULTS = new Set([
  'UNKNOWN',
  'DEADLINE_EXCEEDED',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
]);

/** Traces with OpenTelemetry's SDK. Spans contain route templates and codes, but no text from clients. */
export class OpenTelemetry implements Tracing {
  readonly #sdk: NodeSDK;
  readonly #tracer: Tracer;
  readonly #batches = new WeakMap<Committed, AppendedBatch>();

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

  begin({ protocol, method, route, headers }: StartedRequest): RequestSpan {
    const parent = propagation.extract(ROOT_CONTEXT, headers);
    const [name, attributes] =
      protocol === 'rest' ? [`${method} ${route}`, httpAttributes(method, route)] : rpcOf(protocol, route);
    const span = this.#tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
    const active = trace.setSpan(parent, span);
    return {
      traceId: span.spanContext().traceId,
      run: (work) => context.with(active, work),
      end: (request) => {
        const { status } = request;
        const failed = request.protocol === 'rest' ? status >= '500' : SERVER_FAULTS.has(status);
        span.setAttributes(
          request.protocol === 'rest' ? { 'http.response.status_code': Number(status) } : { 'rpc.status_code': status },
        );
        if (failed) fail(span, status);
        span.end();
      },
    };
  }

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
      const batch = this.#batches.get(event)?.events;
      span.setAttributes({
        'plantstore.position': event.position,
        ...(batch && {
          'plantstore.batch.first_position': batch[0]!.position,
          'plantstore.batch.size': batch.length,
        }),
      });
      return event;
    } catch (thrown) {
      fail(span, thrown === RETURNED ? 'RETURNED' : toPlantStoreError(thrown).reason);
      throw thrown;
    } finally {
      span.end();
    }
  }

  appended(batch: AppendedBatch): void {
    for (const event of batch.events) this.#batches.set(event, batch);
  }

  async close(): Promise<void> {
    await Promise.race([this.#sdk.shutdown().catch(() => {}), sleep(FAREWELL, undefined, { ref: false })]);
  }
}

const httpAttributes = (method: string, route: string): Attributes => ({
  'http.request.method': method,
  'http.route': route,
  'url.scheme': 'http',
});

/** Name and attributes of the span of a call, whose route is `/package.Service/Method`. */
function rpcOf(protocol: string, route: string): [string, Attributes] {
  const method = route.slice(1);
  return [method, { 'rpc.system.name': protocol === 'connect' ? 'connectrpc' : 'grpc', 'rpc.method': method }];
}

/**
 * The `traceparent` of a span (W3C Trace Context, section 3.2). Undefined for a span that is not exported: its children
 * would be orphans.
 */
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
