import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';

/** A program of the system, by its name; undefined where it is not installed. Where CI is set it has to be. */
export function findProgram(name: 'nginx' | 'haproxy' | 'promtool'): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin'];
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (found !== undefined) return found;
  if (process.env.CI === 'true') throw new Error(`${name} is not installed`);
  console.error(`\nNOT TESTED: what needs ${name}, since it is not installed\n`);
  return undefined;
}

/** A proxy in front of services, on one port. */
export class ReverseProxy implements AsyncDisposable {
  readonly port: number;
  readonly #process: ChildProcess;
  readonly #directory: string;
  output = '';

  private constructor(port: number, program: string, args: readonly string[], directory: string) {
    this.port = port;
    this.#directory = directory;
    this.#process = spawn(program, args, { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#process.stdout!, this.#process.stderr!])
      stream.on('data', (bytes) => {
        this.output += bytes;
      });
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** nginx with one server: `listen` after its address, and what is in the server. */
  static async nginx(program: string, listen: string, server: string): Promise<ReverseProxy> {
    const port = await freePort();
    const directory = mkdtempSync(join(tmpdir(), 'plantstore-nginx-'));
    const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (of) => `${of}_temp_path ${directory}/${of};`,
    );
    writeFileSync(
      join(directory, 'nginx.conf'),
      `daemon off; master_process off; pid ${directory}/pid; error_log stderr;
       events { worker_connections 64; }
       http { access_log off; ${folders.join(' ')} server { listen 127.0.0.1:${port} ${listen}; ${server} } }`,
    );
    const args = ['-p', directory, '-e', 'stderr', '-c', 'nginx.conf'];
    return new ReverseProxy(port, program, args, directory).#listening();
  }

  /** HAProxy with this configuration, which listens on the port. */
  static async haproxy(program: string, port: number, configuration: string): Promise<ReverseProxy> {
    const directory = mkdtempSync(join(tmpdir(), 'plantstore-haproxy-'));
    writeFileSync(join(directory, 'haproxy.cfg'), configuration);
    return new ReverseProxy(port, program, ['-db', '-f', 'haproxy.cfg'], directory).#listening();
  }

  /** Resolves once HAProxy has said that a server of both protocols is up again. */
  async saysUp(name: string): Promise<void> {
    const lines = ['rest', 'grpc'].map((of) => `Server ${of}/${name} is UP`);
    while (!lines.every((line) => this.output.includes(line))) await once(this.#process.stderr!, 'data');
  }

  async #listening(): Promise<ReverseProxy> {
    for (;;) {
      if (this.#process.exitCode !== null) throw new Error(`the proxy ended: ${this.output}`);
      const socket = connect(this.port, '127.0.0.1');
      const isOpen = await Promise.race([
        once(socket, 'connect').then(() => true),
        once(socket, 'close').then(() => false),
      ]).catch(() => false);
      socket.destroy();
      if (isOpen) return this;
      await sleep(10);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode === null) {
      this.#process.kill('SIGTERM');
      await once(this.#process, 'exit');
    }
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
