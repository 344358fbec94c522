import { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { PlantStoreService } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import { loadConfig } from '../../src/config.ts';
import { createLogger } from '../../src/observe/logger.ts';
import { createHttpServer } from '../../src/transport/http/server.ts';
import { type RestMethods, registerRest } from '../../src/transport/rest/rest.ts';
import { ALICE } from './principal.ts';

const unexpected = () => Promise.reject(new Error('this method is not part of the test'));

/** REST on a free port, with the test's methods and callers without tokens. */
export class RestApp implements AsyncDisposable {
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
  static async start(methods: Partial<RestMethods>): Promise<RestApp> {
    const logs: Record<string, unknown>[] = [];
    const destination = new Writable({
      write(line: Buffer, _encoding, done) {
        logs.push(JSON.parse(line.toString()));
        done();
      },
    });
    const app = createHttpServer(createLogger('info', destination), loadConfig({}).limits);
    registerRest(app, {
      service: PlantStoreService,
      methods: {
        createPlant: unexpected,
        deletePlant: unexpected,
        listPlants: unexpected,
        getPlant: unexpected,
        ...methods,
      },
      authenticate: () => ALICE,
    });
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    return new RestApp(app, url, logs);
  }

  /** Resolves when a line of a level has been logged. */
  async logged(level: string): Promise<Record<string, unknown>> {
    for (;;) {
      const line = this.logs.find((candidate) => candidate.level === level);
      if (line !== undefined) return line;
      await setImmediate();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#app.server.closeAllConnections();
    await this.#app.close();
  }
}
