import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import http2, { type ClientHttp2Session, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from './service.ts';

/** Milliseconds between two probes of an instance. */
const PROBE = 100;

/** The balancer's view of one instance. */
class Backend {
  readonly service: Service;
  readonly agent = new Agent({ keepAlive: true });
  ready = false;
  #session: ClientHttp2Session | undefined;
  #stopped = false;

  constructor(service: Service) {
    this.service = service;
    void this.#probe();
  }

  /** The connection for gRPC, replaced when it becomes unusable. */
  get session(): ClientHttp2Session {
    if (this.#session === undefined || this.#session.closed || this.#session.destroyed) {
      const session = http2.connect(`http://${this.service.grpcUrl}`);
      const drop = () => {
        if (this.#session === session) this.#session = undefined;
      };
      session.on('goaway', drop).on('close', drop).on('error', drop);
      this.#session = session;
    }
    return this.#session;
  }

  stop(): void {
    this.#stopped = true;
    this.ready = false;
    this.agent.destroy();
    this.#session?.close();
  }

  async #probe(): Promise<void> {
    while (!this.#stopped) {
      const answer = await fetch(`${this.service.adminUrl}/readyz`).catch(() => undefined);
      await answer?.body?.cancel();
      if (!this.#stopped) this.ready = answer?.status === 200;
      await sleep(PROBE);
    }
  }
}

/**
 * A load balancer in front of instances of the service, for REST and gRPC. It probes the readiness of each every 100
 * ms, keeps connections to the ready ones, and sends requests to them in turn. It never retries: a request to an
 * instance that is gone fails.
 */
export class Balancer implements AsyncDisposable {
  #backends: Backend[] = [];
  #turn = 0;
  readonly #rest = createServer((incoming, outgoing) => this.#forward(incoming, outgoing));
  readonly #grpc = http2.createServer();

  static async start(): Promise<Balancer> {
    const balancer = new Balancer();
    balancer.#grpc.on('stream', (stream, headers) => balancer.#forwardStream(stream, headers));
    for (const server of [balancer.#rest, balancer.#grpc]) await once(server.listen(0, '127.0.0.1'), 'listening');
    return balancer;
  }

  /** URL of REST. */
  get url(): string {
    return `http://${addressOf(this.#rest)}`;
  }

  /** Address of gRPC. */
  get grpcUrl(): string {
    return addressOf(this.#grpc as unknown as Server);
  }

  /** Adds an instance. Resolves when the balancer has seen it ready. */
  async add(service: Service): Promise<void> {
    const backend = new Backend(service);
    this.#backends.push(backend);
    while (!backend.ready) await sleep(PROBE / 10);
  }

  /** Removes an instance that has ended. */
  remove(service: Service): void {
    for (const backend of this.#backends) if (backend.service === service) backend.stop();
    this.#backends = this.#backends.filter((backend) => backend.service !== service);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const backend of this.#backends) backend.stop();
    this.#rest.closeAllConnections();
    for (const server of [this.#rest, this.#grpc]) server.close();
  }

  #next(): Backend | undefined {
    const ready = this.#backends.filter((backend) => backend.ready);
    return ready[this.#turn++ % ready.length];
  }

  #forward(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const backend = this.#next();
    const fail = (why: string) => {
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(502).end(why);
    };
    if (backend === undefined) {
      fail('no instance is ready');
      return;
    }
    const { hostname, port } = new URL(backend.service.url);
    const { method, url: path, headers } = incoming;
    const forwarded = request({ hostname, port, method, path, headers, agent: backend.agent }, (answer) => {
      const { connection: _hop, 'keep-alive': _too, ...rest } = answer.headers;
      outgoing.writeHead(answer.statusCode!, rest);
      answer.pipe(outgoing);
      answer.on('error', (error) => fail(String(error)));
    });
    forwarded.on('error', (error) => fail(String(error)));
    incoming.pipe(forwarded);
  }

  #forwardStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const backend = this.#next();
    stream.on('error', () => {});
    if (backend === undefined) {
      stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
      return;
    }
    const forwarded = backend.session.request(headers);
    let trailers: IncomingHttpHeaders = {};
    forwarded.on('response', (answer, flags) => {
      const endStream = (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      stream.respond(answer, { endStream, waitForTrailers: !endStream });
      if (!endStream) forwarded.pipe(stream);
    });
    forwarded.on('trailers', (fields) => {
      trailers = fields;
    });
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    forwarded.on('error', () => stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR));
    stream.on('close', () => forwarded.close(stream.rstCode));
    stream.pipe(forwarded);
  }
}

function addressOf(server: Server): string {
  const { address, port } = server.address() as AddressInfo;
  return `${address}:${port}`;
}
