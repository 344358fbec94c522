import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config.ts';
import type { EventLog } from '../../src/log/log.ts';
import { Health, STARTING } from '../../src/observe/health.ts';
import { LogOutput } from '../../src/observe/log-output.ts';
import { createLogger } from '../../src/observe/logger.ts';
import { start } from '../../src/start.ts';
import { RunningService } from './running-service.ts';

/** Gives each line to the test, and writes none. */
class LinesToTest extends LogOutput {
  readonly #take: (line: string) => void;

  constructor(take: (line: string) => void) {
    super(-1);
    this.#take = take;
  }

  override print(text: string): void {
    for (const line of text.trimEnd().split('\n')) this.#take(line);
  }
}

/**
 * The service in the process of the test, built by the same `start`: ready in a tenth of the time that a process takes.
 * It has no signals, no grace and no Kafka. Whatever it throws fails the test's run.
 */
export class LocalService extends RunningService {
  readonly #environment: Readonly<Record<string, string>>;
  readonly #health: Health;
  readonly #opened = new AsyncDisposableStack();
  #log: EventLog | undefined;

  /** Use {@link startLocalService}. */
  constructor(environment: Readonly<Record<string, string>>) {
    super(environment.DATA_DIR ?? mkdtempSync(join(tmpdir(), 'plantstore-')));
    const ports = { PORT: '0', GRPC_PORT: '0', ADMIN_PORT: '0', DATA_DIR: this.dataDirectory };
    this.#environment = { ...ports, ...environment };
    if (environment.DATA_DIR === undefined)
      this.#opened.defer(() => rmSync(this.dataDirectory, { recursive: true, force: true }));
    const starting = () => STARTING;
    this.#health = new Health({ store: starting, issuer: starting, rest: starting });
  }

  /** Resolves when it is ready. Rejects when it cannot start. */
  async start(): Promise<void> {
    try {
      const config = loadConfig(this.#environment);
      const output = new LinesToTest((line) => this.take(line));
      this.#log = await start(config, createLogger(config.logLevel, output), output, this.#health, this.#opened);
      await this.untilReady();
    } catch (error) {
      await this.#opened.disposeAsync();
      throw error;
    }
  }

  /** Stops it as a signal does. */
  async stop(): Promise<void> {
    this.#health.draining = true;
    void this.#log?.handOn();
    await this.#opened.disposeAsync();
  }
}

/** Starts it on free ports, with a new data directory unless `environment` names one, and waits until it is ready. */
export async function startLocalService(environment: Readonly<Record<string, string>> = {}): Promise<LocalService> {
  const service = new LocalService(environment);
  await service.start();
  return service;
}
