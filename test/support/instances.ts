import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { type Service, startService } from './service.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** Several services on one log. Each reaches the others through proxies. */
export class Instances implements AsyncDisposable {
  readonly services: Service[] = [];
  readonly proxies: TcpProxy[] = [];
  readonly #environment: Readonly<Record<string, string>>;
  readonly #grpcPorts: number[] = [];

  private constructor(environment: Readonly<Record<string, string>>) {
    this.#environment = environment;
  }

  /** Starts a number of services with the same settings and keys. */
  static async start(
    instances: number,
    environment: Readonly<Record<string, string>> & { readonly MONGODB_URI: string },
  ): Promise<Instances> {
    const directory = mkdtempSync(join(tmpdir(), 'plantstore-instances-'));
    const all = new Instances({ ...environment, DATA_DIR: directory });
    for (let index = 0; index < instances; index++) {
      const port = await freePort();
      all.#grpcPorts.push(port);
      all.proxies.push(await TcpProxy.start(port));
      await all.restart(index);
    }
    return all;
  }

  /** Restarts an instance that has ended. */
  async restart(index: number): Promise<Service> {
    const service = await startService({
      ...this.#environment,
      GRPC_PORT: `${this.#grpcPorts[index]}`,
      ADVERTISE_ADDRESS: `127.0.0.1:${this.proxies[index]!.port}`,
    });
    this.services[index] = service;
    return service;
  }

  /** A token of an owner that all instances accept. */
  token(owner: string): Promise<string> {
    return this.services[0]!.token(owner);
  }

  /**
   * Adds plants of an owner on each instance until one is the writer and the others forward to it. Resolves with the
   * writer's index.
   */
  async settled(owner: string): Promise<number> {
    const token = await this.token(owner);
    for (let id = 1_000_000; ; id++) {
      for (const service of this.services)
        await fetch(`${service.url}/plants`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ id: id++, name: 'settled' }),
        }).then((reply) => reply.text());
      const writes = await Promise.all(this.services.map((service) => service.metric('plantstore_writer')));
      const forwards = await Promise.all(this.services.map((service) => service.metric('plantstore_forwarding')));
      const [writing, forwarding] = [writes.filter(Boolean).length, forwards.filter(Boolean).length];
      if (writing === 1 && forwarding === this.services.length - 1) return writes.indexOf(1);
      await sleep(20);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.services.filter(({ exitCode }) => exitCode === null).map((service) => service.kill()));
    for (const proxy of this.proxies) await proxy.close();
    rmSync(this.#environment.DATA_DIR!, { recursive: true, force: true });
  }
}
