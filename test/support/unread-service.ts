import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { openDevelopmentIssuer } from '../../src/auth/development.ts';
import { freePort } from './free-port.ts';
import { parseMetrics } from './prometheus.ts';
import { spawnTied } from './tied.ts';

const PROGRAM = join(import.meta.dirname, '../../bin/plantstore.js');
/** Milliseconds after which a request fails, because the service hangs. */
const REQUEST_LIMIT = 10_000;
/** Concurrent requests. */
const AT_ONCE = 32;

/** The service with a stdout that only the test reads. */
export class UnreadService implements AsyncDisposable {
  readonly process: ChildProcess;
  /** Ids of the completed requests. */
  readonly answered: number[] = [];
  readonly #directory: string;
  readonly #exited: Promise<[number | null]>;
  readonly #adminUrl: string;
  readonly #pool: Pool;
  readonly #token: string;

  private constructor(directory: string, child: ChildProcess, rest: number, admin: number, token: string) {
    this.#directory = directory;
    this.process = child;
    this.#exited = once(child, 'exit') as Promise<[number | null]>;
    this.#adminUrl = `http://127.0.0.1:${admin}`;
    this.#pool = new Pool(`http://127.0.0.1:${rest}`, { connections: AT_ONCE, headersTimeout: REQUEST_LIMIT });
    this.#token = token;
  }

  /**
   * Starts it in development mode, and waits until it is ready. `stdout` is `pipe`, or a descriptor, which this closes.
   */
  static async start(
    stdout: number | 'pipe',
    environment: Readonly<Record<string, string>> = {},
  ): Promise<UnreadService> {
    const directory = mkdtempSync(join(tmpdir(), 'plantstore-unread-'));
    const { mintToken } = await openDevelopmentIssuer(directory);
    const token = await mintToken({ owner: 'alice', ownerClaim: 'sub', ttl: 3600 });
    const [rest, grpc, admin] = [await freePort(), await freePort(), await freePort()];
    const ports = { PORT: `${rest}`, GRPC_PORT: `${grpc}`, ADMIN_PORT: `${admin}` };
    const variables = { DRAIN_GRACE: '0', DATA_DIR: directory, ...ports, ...environment };
    const child = spawnTied([PROGRAM, 'serve'], variables, stdout, 'inherit');
    if (stdout !== 'pipe') closeSync(stdout);
    const service = new UnreadService(directory, child, rest, admin, token);
    while (!(await service.#ready())) await sleep(20);
    return service;
  }

  /**
   * Sends a number of requests with the request ids `from`, `from` + 1, ..., and throws unless each succeeds with 200.
   * Zeros make the ids, and so the lines, as long as may be.
   */
  async serve(from: number, count: number): Promise<void> {
    let next = from;
    const client = async () => {
      while (next < from + count) {
        const id = next++;
        const headers = { authorization: `Bearer ${this.#token}`, 'x-request-id': `${id}`.padStart(64, '0') };
        const { statusCode, body } = await this.#pool.request({ method: 'GET', path: '/plants', headers });
        await body.dump();
        if (statusCode !== 200) throw new Error(`a request was answered with ${statusCode}`);
        this.answered.push(id);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, client));
  }

  /** Number of dropped lines that it reports. */
  async dropped(): Promise<number> {
    const response = await fetch(`${this.#adminUrl}/metrics`);
    return parseMetrics(await response.text()).get('plantstore_log_lines_dropped_total')!.samples[0]!.value;
  }

  /** Its exit code. Resolves when it has ended. */
  async ended(): Promise<number | null> {
    const [code] = await this.#exited;
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.process.kill('SIGKILL');
    await this.#exited;
    await this.#pool.destroy();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #ready(): Promise<boolean> {
    if (this.process.exitCode !== null) throw new Error('the service ended at its start');
    const response = await fetch(`${this.#adminUrl}/readyz`).catch(() => undefined);
    await response?.body?.cancel();
    return response?.status === 200;
  }
}
