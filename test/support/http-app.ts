import { setImmediate } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { PlantStoreService } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import type { Service } from '../../src/call.ts';
import { loadConfig } from '../../src/config.ts';
import { drain, listen } from '../../src/start/http.ts';
import { Admission } from '../../src/transport/admission/admission.ts';
import { registerConnect } from '../../src/transport/connect/connect.ts';
import { createHttpServer } from '../../src/transport/http/server.ts';
import { type RestMethods, type RestOptions, registerRest } from '../../src/transport/rest/rest.ts';

import { collectLog } from './collected-log.ts';
import { ALICE } from './principal.ts';

/** Methods that fail, for those that a test does not give. */
export const UNEXPECTED = Object.fromEntries(
  PlantStoreService.methods.map(({ localName }) => [
    localName,
    () => Promise.reject(new Error('this method is not part of the test')),
  ]),
) as unknown as RestMethods & Service['methods'];

/** The HTTP server on a free port, with the test's methods and callers without tokens. */
export class HttpApp implements AsyncDisposable {
  readonly url: string;
  /** The lines that were logged. */
  readonly logs: readonly Record<string, unknown>[];
  readonly admission: Admission;
  readonly #app: FastifyInstance;

  private constructor(
    app: FastifyInstance,
    url: string,
    logs: readonly Record<string, unknown>[],
    admission: Admission,
  ) {
    this.#app = app;
    this.url = url;
    this.logs = logs;
    this.admission = admission;
  }

  /** Starts it with REST. Methods that are not given fail. */
  static rest(given: Partial<RestMethods>, watches: RestOptions['watches'] = {}): Promise<HttpApp> {
    const methods = { ...UNEXPECTED, ...given } as RestMethods;
    return HttpApp.#start((app) => registerRest(app, { service: PlantStoreService, methods, watches, authenticate }));
  }

  /** Starts it with Connect. */
  static connect(methods: Service['methods'], drainLimit = 0): Promise<HttpApp> {
    const services = [{ desc: PlantStoreService, methods }];
    return HttpApp.#start((app) => registerConnect(app, { services, authenticate, drainLimit }));
  }

  static async #start(register: (app: FastifyInstance) => void): Promise<HttpApp> {
    const { logs, logger } = collectLog();
    const { limits } = loadConfig({});
    const admission = new Admission(limits, () => {});
    const app = createHttpServer(logger, limits, { admission });
    register(app);
    return new HttpApp(app, await listen(app, { host: '127.0.0.1', port: 0 }), logs, admission);
  }

  /** Resolves when a line of a level has been logged. */
  async logged(level: string): Promise<Record<string, unknown>> {
    for (;;) {
      const line = this.logs.find((candidate) => candidate.level === level);
      if (line !== undefined) return line;
      await setImmediate();
    }
  }

  /** Closes it as the service does: calls in flight may complete. */
  close(): Promise<void> {
    return drain(this.#app);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#app.server.closeAllConnections();
    await drain(this.#app);
  }
}

const authenticate = () => ALICE;
