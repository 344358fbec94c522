import { once } from 'node:events';
import { createServer, type OutgoingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** What becomes of an answer, by the path that was asked for. Undefined: it is withheld, with 404. */
export type Tamper = (path: string, body: Buffer) => Buffer | string | undefined;

/** Headers that are of one connection, or of the bytes as they were. */
const DROPPED = ['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'content-encoding'];

/** What stands between a browser and a service, and changes what the service answers. */
export class TamperingProxy implements AsyncDisposable {
  /** Where the service is. */
  target: string;
  tamper: Tamper = (_path, body) => body;
  readonly #server: Server;

  private constructor(target: string) {
    this.target = target;
    this.#server = createServer(async (request, response) => {
      const path = request.url!;
      const { host: _host, connection: _connection, ...headers } = request.headers;
      const body = await buffer(request);
      const answer = await fetch(this.target + path, {
        method: request.method!,
        headers: { ...(headers as Record<string, string>), 'accept-encoding': 'identity' },
        ...(body.length > 0 && { body: new Uint8Array(body) }),
      });
      const changed = this.tamper(path, Buffer.from(await answer.arrayBuffer()));
      const sent: OutgoingHttpHeaders = Object.fromEntries(answer.headers);
      for (const name of DROPPED) delete sent[name];
      response.writeHead(changed === undefined ? 404 : answer.status, sent).end(changed);
    });
  }

  /** Starts one in front of a service. */
  static async start(target: string): Promise<TamperingProxy> {
    const proxy = new TamperingProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
