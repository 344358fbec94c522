import {
  type Server,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { service as definition } from 'grpc-health-check';

type Request = { readonly service: string };
type Check = ServerUnaryCall<Request, object>;
type Watch = ServerWritableStream<Request, object>;

/** Milliseconds until a watcher gets a change. Far less than the grace period of a stop. */
const WATCH_INTERVAL = 100;

/** grpc.health.v1.Health for each service and, under the empty name, for all of them. Needs no token. */
export class GrpcHealth {
  readonly #names: readonly string[];
  #isReady: () => boolean;
  readonly #watches = new Set<Watch>();
  readonly #timer: NodeJS.Timeout;
  /** What those who watch were told last. */
  #told: string;

  /** The services serve as long as `isReady` returns true. */
  constructor(services: readonly string[], isReady: () => boolean) {
    this.#names = ['', ...services];
    this.#isReady = isReady;
    this.#told = this.#status;
    this.#timer = setInterval(() => this.#tell(), WATCH_INTERVAL).unref();
  }

  /** Reports NOT_SERVING and ends every watch, so that no watch keeps the server from stopping. */
  close(): void {
    clearInterval(this.#timer);
    this.#isReady = () => false;
    this.#tell();
    for (const call of this.#watches) call.end();
  }

  /** Adds the service to a server. */
  addTo(server: Pick<Server, 'addService'>): void {
    server.addService(definition, {
      check: ({ request }: Check, answer: sendUnaryData<object>) => {
        if (this.#knows(request)) answer(null, { status: this.#status });
        else answer({ code: status.NOT_FOUND, details: 'there is no service of this name' });
      },
      list: (_call: unknown, answer: sendUnaryData<object>) => {
        const each = { status: this.#status };
        answer(null, { statuses: Object.fromEntries(this.#names.map((name) => [name, each])) });
      },
      watch: (call: Watch) => {
        this.#watches.add(call);
        call.once('close', () => this.#watches.delete(call));
        call.write({ status: this.#knows(call.request) ? this.#told : 'SERVICE_UNKNOWN' });
      },
    });
  }

  get #status(): string {
    return this.#isReady() ? 'SERVING' : 'NOT_SERVING';
  }

  #knows({ service }: Request): boolean {
    return this.#names.includes(service);
  }

  #tell(): void {
    if (this.#told === this.#status) return;
    this.#told = this.#status;
    for (const call of this.#watches) if (this.#knows(call.request)) call.write({ status: this.#told });
  }
}
