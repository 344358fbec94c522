import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDevelopmentIssuer } from '../../src/auth/development.ts';

const PROGRAM = join(import.meta.dirname, '../../bin/plantstore.js');
/** Most milliseconds until the service is ready, also on a busy machine. */
const READY_LIMIT = 120_000;
const READY_POLL = 20;

/** One log line of the service. */
export type LogLine = Readonly<Record<string, unknown>>;

/** The service in its own process on free ports, as `npm start` runs it. */
export class Service implements AsyncDisposable {
  readonly dataDirectory: string;
  /** The JSON lines of its stdout so far. */
  readonly logs: LogLine[] = [];
  /** All other output, for messages of failures. */
  output = '';
  readonly #process: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #ownsDirectory: boolean;

  constructor(environment: Readonly<Record<string, string>>) {
    this.#ownsDirectory = environment.DATA_DIR === undefined;
    this.dataDirectory = environment.DATA_DIR ?? mkdtempSync(join(tmpdir(), 'plantstore-'));
    this.#process = spawn(process.execPath, [PROGRAM, 'serve'], {
      env: {
        PATH: process.env.PATH,
        ...{ PORT: '0', GRPC_PORT: '0', ADMIN_PORT: '0', DRAIN_GRACE: '0', DATA_DIR: this.dataDirectory },
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#exited = once(this.#process, 'close');
    for (const stream of [this.#process.stdout!, this.#process.stderr!])
      createInterface({ input: stream }).on('line', (line) => this.#take(line));
  }

  /** URL of REST and Connect, such as `http://127.0.0.1:8080`. */
  get url(): string {
    return this.#address('rest');
  }

  /** Address of gRPC. */
  get grpcUrl(): string {
    return this.#address('grpc');
  }

  /** URL of `/readyz`. */
  get adminUrl(): string {
    return this.#address('admin');
  }

  get pid(): number {
    return this.#process.pid!;
  }

  /** Exit code; null while it runs, or if a signal ended it. */
  get exitCode(): number | null {
    return this.#process.exitCode;
  }

  /** Resolves with the first matching log line. */
  async logged(fits: (line: LogLine) => boolean): Promise<LogLine> {
    for (;;) {
      const line = this.logs.find(fits);
      if (line !== undefined) return line;
      await sleep(READY_POLL);
    }
  }

  /** A token of development mode. */
  async token(owner: string, scope?: string): Promise<string> {
    const issuer = await openDevelopmentIssuer(this.dataDirectory);
    return issuer.mintToken({ owner, ownerClaim: 'sub', ttl: 3600, ...(scope !== undefined && { scope }) });
  }

  /** Resolves when `/readyz` returns 200. Rejects with the service's output if it ends before or takes too long. */
  async ready(): Promise<void> {
    const deadline = Date.now() + READY_LIMIT;
    while (!(await this.#isReady())) {
      if (this.#process.exitCode !== null || this.#process.signalCode !== null || Date.now() > deadline) {
        await this.kill();
        throw new Error(
          `the service did not become ready:\n${this.logs.map((line) => JSON.stringify(line)).join('\n')}\n${this.output}`,
        );
      }
      await sleep(READY_POLL);
    }
  }

  /** Stops it gracefully, and returns its exit code. */
  async stop(signal: 'SIGTERM' | 'SIGINT' = 'SIGTERM'): Promise<number | null> {
    this.#process.kill(signal);
    return this.#end();
  }

  /** Kills it, like a power failure. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #end(): Promise<number | null> {
    await this.#exited;
    if (this.#ownsDirectory) rmSync(this.dataDirectory, { recursive: true, force: true });
    return this.#process.exitCode;
  }

  async #isReady(): Promise<boolean> {
    // A line may arrive after the response of `/readyz`, although it was written before.
    if (['admin', 'rest', 'grpc'].some((protocol) => this.#listening(protocol) === undefined)) return false;
    const response = await fetch(`${this.adminUrl}/readyz`).catch(() => undefined);
    await response?.body?.cancel();
    return response?.status === 200;
  }

  #address(protocol: string): string {
    const line = this.#listening(protocol);
    if (line === undefined) throw new Error(`the service does not listen for ${protocol}`);
    return line.address as string;
  }

  #listening(protocol: string): LogLine | undefined {
    return this.logs.find((line) => line.msg === 'listening' && line.protocol === protocol);
  }

  #take(line: string): void {
    try {
      this.logs.push(JSON.parse(line));
    } catch {
      this.output += `${line}\n`;
    }
  }
}

/** Starts the service on free ports, with a new data directory unless `environment` names one, and waits until it is ready. */
export async function startService(environment: Readonly<Record<string, string>> = {}): Promise<Service> {
  const service = new Service(environment);
  await service.ready();
  return service;
}
