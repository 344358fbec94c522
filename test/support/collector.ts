import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** A span in OTLP's JSON. */
export interface ExportedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly status: { readonly code?: number; readonly message?: string };
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly events?: readonly unknown[];
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: Pick<ExportedSpan, 'attributes'>;
    readonly scopeSpans: readonly { readonly spans: readonly ExportedSpan[] }[];
  }[];
}

/** The caller of a request, with its own trace. */
export const caller = () => ({ traceId: randomBytes(16).toString('hex'), spanId: randomBytes(8).toString('hex') });

/** The `traceparent` of the caller (W3C Trace Context); sampled by default. */
export const traceparent = ({ traceId, spanId }: ReturnType<typeof caller>, flags = '01') =>
  `00-${traceId}-${spanId}-${flags}`;

/** A collector for OTLP over HTTP, in JSON. Keeps all spans it receives. */
export class Collector implements AsyncDisposable {
  readonly exports: Export[] = [];
  readonly #server: Server;
  readonly #arrivals = new EventEmitter<{ arrival: [] }>().setMaxListeners(0);

  private constructor() {
    this.#server = createServer(async (request, response) => {
      this.exports.push((await json(request)) as Export);
      this.#arrivals.emit('arrival');
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  }

  /** Starts it on a free loopback port. */
  static async start(): Promise<Collector> {
    const collector = new Collector();
    collector.#server.listen(0, '127.0.0.1');
    await once(collector.#server, 'listening');
    return collector;
  }

  /** Environment that makes a service send its traces here without delay. */
  get environment(): Record<string, string> {
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    };
  }

  /** All spans so far. */
  get spans(): ExportedSpan[] {
    return this.exports.flatMap(({ resourceSpans }) =>
      resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    );
  }

  /** Resolves when the given number of spans of a trace have arrived. */
  async trace(traceId: string, count: number): Promise<ExportedSpan[]> {
    for (;;) {
      const found = this.spans.filter((span) => span.traceId === traceId);
      if (found.length >= count) return found;
      await once(this.#arrivals, 'arrival');
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** The attributes of a span, or of a resource, by name; integers as numbers. */
export const attributesOf = ({ attributes }: Pick<ExportedSpan, 'attributes'>): Record<string, unknown> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [key, 'intValue' in value ? Number(value.intValue) : Object.values(value)[0]]),
  );
