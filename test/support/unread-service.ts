import { closeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { freePort } from './free-port.ts';
import { Service } from './service.ts';

/** Milliseconds after which a request fails, because the service hangs. */
const REQUEST_LIMIT = 10_000;
/** Concurrent requests. */
const AT_ONCE = 32;

/** The service with a stdout that only the test reads. */
export class UnreadService extends Service {
  /** Ids of the completed requests. */
  readonly answered: number[] = [];
  readonly #ports: Readonly<Record<'PORT' | 'ADMIN_PORT', string>>;
  readonly #pool: Pool;

  private constructor(environment: Readonly<Record<'PORT' | 'ADMIN_PORT', string>>, stdout: number | 'pipe') {
    super(environment, stdout);
    this.#ports = environment;
    this.#pool = new Pool(this.url, { connections: AT_ONCE, headersTimeout: REQUEST_LIMIT });
  }

  override get url(): string {
    return `http://127.0.0.1:${this.#ports.PORT}`;
  }

  override get adminUrl(): string {
    return `http://127.0.0.1:${this.#ports.ADMIN_PORT}`;
  }

  /**
   * Starts it in development mode, and waits until it is ready. `stdout` is `pipe`, or a descriptor, which this closes.
   */
  static async start(
    stdout: number | 'pipe',
    environment: Readonly<Record<string, string>> = {},
  ): Promise<UnreadService> {
    const ports = { PORT: `${await freePort()}`, ADMIN_PORT: `${await freePort()}` };
    const service = new UnreadService({ ...ports, ...environment }, stdout);
    if (stdout !== 'pipe') closeSync(stdout);
    while (!(await service.#ready())) await sleep(20);
    return service;
  }

  /**
   * Sends a number of requests with the request ids `from`, `from` + 1, ..., and throws unless each succeeds with 200.
   * Zeros make the ids, and so the lines, as long as may be.
   */
  async serve(from: number, count: number): Promise<void> {
    const token = await this.token('alice');
    let next = from;
    const client = async () => {
      while (next < from + count) {
        const id = next++;
        const headers = { authorization: `Bearer ${token}`, 'x-request-id': `${id}`.padStart(64, '0') };
        const { statusCode, body } = await this.#pool.request({ method: 'GET', path: '/plants', headers });
        await body.dump();
        if (statusCode !== 200) throw new Error(`a request was answered with ${statusCode}`);
        this.answered.push(id);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, client));
  }

  /** Number of dropped lines that it reports. */
  dropped(): Promise<number> {
    return this.metric('plantstore_log_lines_dropped_total');
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.#pool.destroy();
  }

  async #ready(): Promise<boolean> {
    if (this.exitCode !== null) throw new Error('the service ended at its start');
    const response = await fetch(`${this.adminUrl}/readyz`).catch(() => undefined);
    await response?.body?.cancel();
    return response?.status === 200;
  }
}
