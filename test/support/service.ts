import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { RunningService } from './running-service.ts';
import { spawnTied } from './tied.ts';

const PROGRAM = join(import.meta.dirname, '../../bin/plantstore.js');
/** Most milliseconds until the service is ready, also on a busy machine. */
const READY_LIMIT = 120_000;

/** The service in its own process, as `npm start` runs it: for what only a process shows, such as how it ends. */
export class Service extends RunningService {
  readonly process: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #ownsDirectory: boolean;

  /** `stdout`: the test reads it itself: a pipe, or what this descriptor is of. */
  constructor(environment: Readonly<Record<string, string>>, stdout?: 'pipe' | number) {
    super(environment.DATA_DIR ?? mkdtempSync(join(tmpdir(), 'plantstore-')));
    this.#ownsDirectory = environment.DATA_DIR === undefined;
    const defaults = { PORT: '0', GRPC_PORT: '0', ADMIN_PORT: '0', DRAIN_GRACE: '0', DATA_DIR: this.dataDirectory };
    this.process = spawnTied([PROGRAM, 'serve'], { ...defaults, ...environment }, stdout ?? 'pipe', 'pipe');
    // A stdout that nobody reads never closes.
    this.#exited = once(this.process, stdout === undefined ? 'close' : 'exit');
    for (const input of [stdout === undefined && this.process.stdout!, this.process.stderr!])
      if (input) createInterface({ input }).on('line', (line) => this.take(line));
  }

  get pid(): number {
    return this.process.pid!;
  }

  /** MiB of its resident memory. */
  get residentMemory(): number {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.pid}/status`, 'utf8'))![1]) / 1024;
  }

  /** Exit code; null while it runs, or if a signal ended it. */
  get exitCode(): number | null {
    return this.process.exitCode;
  }

  /** Resolves when `/readyz` returns 200. Rejects with the service's output if it ends before or takes too long. */
  async ready(): Promise<void> {
    const given = new AbortController();
    const late = sleep(READY_LIMIT, false, { signal: given.signal, ref: false });
    try {
      const ready = this.untilReady(given.signal).then(() => true);
      if (await Promise.race([ready, this.#exited.then(() => false), late])) return;
    } finally {
      given.abort();
    }
    await this.kill();
    const lines = this.logs.map((line) => JSON.stringify(line)).join('\n');
    throw new Error(`the service did not become ready:\n${lines}\n${this.output}`);
  }

  /** Stops it gracefully, and returns its exit code. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.process.kill(signal);
    return this.ended();
  }

  /** Kills it, like a power failure. */
  async kill(): Promise<void> {
    this.process.kill('SIGKILL');
    await this.ended();
  }

  /** Its exit code, once it has ended. */
  async ended(): Promise<number | null> {
    await this.#exited;
    if (this.#ownsDirectory) rmSync(this.dataDirectory, { recursive: true, force: true });
    return this.process.exitCode;
  }
}

/**
 * Starts the service on free ports, with a new data directory unless `environment` names one, and waits until it is
 * ready.
 */
export async function startService(environment: Readonly<Record<string, string>> = {}): Promise<Service> {
  const service = new Service(environment);
  await service.ready();
  return service;
}
