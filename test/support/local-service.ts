import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config.ts';
import { Health } from '../../src/observe/health.ts';
import { LogOutput } from '../../src/observe/log-output.ts';
import { createLogger } from '../../src/observe/logger.ts';
import { type Parts, STARTING, storeReadiness } from '../../src/start/parts.ts';
import { start } from '../../src/start.ts';
import { RunningService } from './running-service.ts';

/** Gives each line to the test, and writes none. */
class LinesToTest extends LogOutput {
  readonly #take: (line: string) => void;

  constructor(take: (line: string) => void) {
    super(-1);
    this.#take = take;
  }

  override write(text: string): void {
    for (const line of text.trimEnd().split('\n')) this.#take(line);
  }
}

/**
 * The service in the process of the test, built by the same `start`: ready in a tenth of the time that a process takes.
 * It has no signals, no grace and no Kafka. Whatever it throws fails the test's run.
 */
export class LocalService extends RunningService {
  readonly #environment: Readonly<Record<string, string>>;
  readonly #parts: Parts;
  readonly #health: Health;
  readonly #opened = new AsyncDisposableStack();

  /** Use {@link startLocalService}. */
  constructor(environment: Readonly<Record<string, string>>) {
    super(environment.DATA_DIR ?? mkdtempSync(join(tmpdir(), 'plantstore-')));
    const ports = { PORT: '0', GRPC_PORT: '0', ADMIN_PORT: '0', DATA_DIR: this.dataDirectory };
    this.#environment = { ...ports, ...environment };
    if (environment.DATA_DIR === undefined)
      this.#opened.defer(() => rmSync(this.dataDirectory, { recursive: true, force: true }));
    this.#parts = { output: new LinesToTest((line) => this.take(line)) };
    this.#health = new Health({
      store: () => storeReadiness(this.#parts),
      issuer: () => this.#parts.keys?.ready() ?? STARTING,
      rest: () => (this.#parts.app ? { ready: true } : STARTING),
    });
  }

  /** Resolves when it is ready. Rejects when it cannot start. */
  async start(): Promise<void> {
    try {
      const config = loadConfig(this.#environment);
      await start(config, createLogger(config.logLevel, this.#parts.output), this.#health, this.#parts, this.#opened);
      await this.untilReady();
    } catch (error) {
      await this.#opened.disposeAsync();
      throw error;
    }
  }

  /** Stops it as a signal does. */
  async stop(): Promise<void> {
    this.#health.drain();
    void this.#parts.log?.handOn();
    await this.#opened.disposeAsync();
  }
}

/** Starts it on free ports, with a new data directory unless `environment` names one, and waits until it is ready. */
export async function startLocalService(environment: Readonly<Record<string, string>> = {}): Promise<LocalService> {
  const service = new LocalService(environment);
  await service.start();
  return service;
}
