import { Writable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { PlantStoreService } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import type { Service } from '../../src/call.ts';
import { loadConfig } from '../../src/config.ts';
import { createLogger } from '../../src/observe/logger.ts';
import { registerConnect } from '../../src/transport/connect/connect.ts';
import { createHttpServer } from '../../src/transport/http/server.ts';
import { ALICE } from './principal.ts';

/** Connect on a free port, with the test's methods and callers without tokens. */
export class ConnectApp implements AsyncDisposable {
  readonly url: string;
  /** The lines that were logged. */
  readonly logs: readonly Record<string, unknown>[];
  readonly #app: FastifyInstance;

  private constructor(app: FastifyInstance, url: string, logs: readonly Record<string, unknown>[]) {
    this.#app = app;
    this.url = url;
    this.logs = logs;
  }

  /** Starts it. Methods that are not given fail. */
  static async start(methods: Service['methods'], drainLimit = 0): Promise<ConnectApp> {
    const logs: Record<string, unknown>[] = [];
    const destination = new Writable({
      write(line: Buffer, _encoding, done) {
        logs.push(JSON.parse(line.toString()));
        done();
      },
    });
    const app = createHttpServer(createLogger('info', destination), loadConfig({}).limits);
    registerConnect(app, {
      services: [{ desc: PlantStoreService, methods }],
      authenticate: () => ALICE,
      drainLimit,
    });
    return new ConnectApp(app, await app.listen({ host: '127.0.0.1', port: 0 }), logs);
  }

  /** Closes it as the service does: calls in flight may complete. */
  close(): Promise<void> {
    return this.#app.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#app.server.closeAllConnections();
    await this.#app.close();
  }
}
