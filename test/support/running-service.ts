import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDevelopmentIssuer } from '../../src/auth/development.ts';
import { type Family, parseMetrics } from './prometheus.ts';

/** Milliseconds between two looks at `/readyz`. */
const READY_POLL = 20;
const PROTOCOLS = ['admin', 'rest', 'grpc'] as const;

/** One log line of the service. */
export type LogLine = Readonly<Record<string, unknown>>;

/** A service that runs on free ports, wherever it runs. */
export abstract class RunningService implements AsyncDisposable {
  readonly dataDirectory: string;
  /** Its JSON lines so far. */
  readonly logs: LogLine[] = [];
  /** All other output, for messages of failures. */
  output = '';
  readonly #lines = new EventEmitter<{ line: [] }>().setMaxListeners(0);

  protected constructor(dataDirectory: string) {
    this.dataDirectory = dataDirectory;
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

  /** Resolves with the first matching log line. */
  async logged(fits: (line: LogLine) => boolean): Promise<LogLine> {
    for (;;) {
      const line = this.logs.find(fits);
      if (line !== undefined) return line;
      await once(this.#lines, 'line');
    }
  }

  /** What it tells Prometheus, by name. */
  async metrics(): Promise<Map<string, Family>> {
    return parseMetrics(await (await fetch(`${this.adminUrl}/metrics`)).text());
  }

  /** The sum of a metric's series that have these labels. Rejects if there is no metric of that name. */
  async metric(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    const family = (await this.metrics()).get(name);
    if (family === undefined) throw new Error(`there is no metric ${name}`);
    const wanted = Object.entries(labels);
    return family.samples
      .filter((sample) => wanted.every(([label, value]) => sample.labels[label] === value))
      .reduce((sum, { value }) => sum + value, 0);
  }

  /** A token of development mode. */
  async token(owner: string, scope?: string): Promise<string> {
    const issuer = await openDevelopmentIssuer(this.dataDirectory);
    return issuer.mintToken({ owner, ownerClaim: 'sub', ttl: 3600, ...(scope !== undefined && { scope }) });
  }

  /** Resolves when its first checkpoint is signed and kept, which it makes in the background after it is ready. */
  async signed(): Promise<void> {
    const response = await fetch(`${this.url}/log/checkpoint`);
    await response.body?.cancel();
    if (response.status !== 200) throw new Error(`no checkpoint is signed: status ${response.status}`);
  }

  /** Stops it gracefully. */
  abstract stop(): Promise<unknown>;

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Resolves when it listens on every port and `/readyz` returns 200, or nobody waits for that any more. */
  protected async untilReady(given?: AbortSignal): Promise<void> {
    // A line may arrive after the response of `/readyz`, although it was written before.
    for (const protocol of PROTOCOLS) await this.logged((line) => isListening(line, protocol));
    while (given?.aborted !== true) {
      const response = await fetch(`${this.adminUrl}/readyz`).catch(() => undefined);
      await response?.body?.cancel();
      if (response?.status === 200) return;
      await sleep(READY_POLL);
    }
  }

  /** Takes a line of its output. */
  protected take(line: string): void {
    try {
      this.logs.push(JSON.parse(line));
    } catch {
      this.output += `${line}\n`;
    }
    this.#lines.emit('line');
  }

  #address(protocol: (typeof PROTOCOLS)[number]): string {
    const line = this.logs.find((each) => isListening(each, protocol));
    if (line === undefined) throw new Error(`the service does not listen for ${protocol}`);
    return line.address as string;
  }
}

const isListening = (line: LogLine, protocol: string): boolean =>
  line.msg === 'listening' && line.protocol === protocol;
