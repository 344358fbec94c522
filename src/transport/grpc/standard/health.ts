import type { handleServerStreamingCall, handleUnaryCall, Server, ServerWritableStream } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';

type Request = { readonly service: string };
type Response = { readonly status: string };
type Watch = ServerWritableStream<Request, Response>;

/** Milliseconds until a watcher gets a change. Far less than the grace period of a stop. */
const WATCH_INTERVAL = 100;

/** grpc.health.v1.Health for each service and, under the empty name, for all of them. Needs no token. */
export class GrpcHealth {
  readonly #names: readonly string[];
  #isReady: () => boolean;
  readonly #health = new HealthImplementation();
  readonly #watches = new Set<Watch>();
  readonly #timer: NodeJS.Timeout;
  #serving: boolean | undefined;

  /** The services serve as long as `isReady` returns true. */
  constructor(services: readonly string[], isReady: () => boolean) {
    this.#names = ['', ...services];
    this.#isReady = isReady;
    this.#update();
    this.#timer = setInterval(() => this.#update(), WATCH_INTERVAL).unref();
  }

  /** Reports NOT_SERVING and ends every watch, so that no watch keeps the server from stopping. */
  close(): void {
    clearInterval(this.#timer);
    this.#isReady = () => false;
    this.#update();
    for (const call of this.#watches) call.end();
  }

  /** Adds the service to a server. */
  addTo(server: Pick<Server, 'addService'>): void {
    this.#health.addToServer({
      addService: (definition, implementation) => {
        const check = implementation.check as handleUnaryCall<Request, Response>;
        const list = implementation.list as handleUnaryCall<Request, Response>;
        const watch = implementation.watch as handleServerStreamingCall<Request, Response>;
        server.addService(definition, {
          check: this.#asked(check),
          list: this.#asked(list),
          watch: (call: Watch) => this.#watch(call, watch),
        });
      },
    });
  }

  /** Updates the state before each answer. */
  #asked(handler: handleUnaryCall<Request, Response>): handleUnaryCall<Request, Response> {
    return (call, callback) => {
      this.#update();
      handler(call, callback);
    };
  }

  #watch(call: Watch, watch: handleServerStreamingCall<Request, Response>): void {
    this.#watches.add(call);
    call.once('close', () => this.#watches.delete(call));
    // The library would keep every name that was ever watched.
    if (this.#names.includes(call.request.service)) watch(call);
    else call.write({ status: 'SERVICE_UNKNOWN' });
  }

  #update(): void {
    const serving = this.#isReady();
    if (serving === this.#serving) return;
    this.#serving = serving;
    for (const name of this.#names) this.#health.setStatus(name, serving ? 'SERVING' : 'NOT_SERVING');
  }
}
