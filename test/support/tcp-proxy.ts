import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * What happens to a chunk from a client, and to its connection. `hold`: this chunk waits for `release`, later ones do
 * not. `stall`: this chunk and all later ones wait, even after the client has left.
 */
export type Fate = 'forward' | 'lose request' | 'lose reply' | 'hold' | 'stall';

/** A TCP proxy in front of a local port, for injecting faults. */
export class TcpProxy {
  /** Decides what happens to each chunk from a client. Forwards all by default. */
  fate: (chunk: Buffer) => Fate = () => 'forward';
  /** Sees each chunk of a reply. */
  onReply: (chunk: Buffer) => void = () => {};
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #held: { readonly to: Socket; readonly chunk: Buffer }[] = [];
  #stalled: (() => void)[] = [];
  #onHeld: (() => void) | undefined;

  private constructor(target: number) {
    this.#server = createServer((client) => this.#serve(client, this.#track(connect(target, '127.0.0.1'))));
  }

  /** Starts a proxy. */
  static async start(target: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  /** Resolves when a chunk is held. */
  async holds(): Promise<void> {
    if (this.#held.length > 0) return;
    await new Promise<void>((resolve) => {
      this.#onHeld = resolve;
    });
  }

  /** Forwards held chunks, even if their clients have left. */
  release(): void {
    for (const { to, chunk } of this.#held.splice(0)) to.write(chunk);
    for (const goOn of this.#stalled.splice(0)) goOn();
  }

  /** Cuts all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Cuts all connections and stops listening. */
  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(client: Socket, server: Socket): void {
    this.#track(client);
    let muted = false;
    let holding = false;
    let stalled: Buffer[] | undefined;
    const stall = () => {
      holding = true;
      stalled = [];
      this.#stalled.push(() => {
        for (const chunk of stalled!) server.write(chunk);
        stalled = undefined;
        holding = false;
        if (client.destroyed) server.end();
      });
    };
    client.on('data', (chunk) => {
      if (stalled !== undefined) {
        stalled.push(chunk as Buffer);
        return;
      }
      const fate = this.fate(chunk as Buffer);
      if (fate === 'lose request') return client.destroy();
      if (fate === 'hold') {
        holding = true;
        this.#held.push({ to: server, chunk: chunk as Buffer });
        this.#onHeld?.();
        return;
      }
      if (fate === 'stall') {
        stall();
        stalled!.push(chunk as Buffer);
        return;
      }
      muted ||= fate === 'lose reply';
      server.write(chunk);
    });
    server.on('data', (chunk: Buffer) => {
      this.onReply(chunk);
      if (muted) client.destroy();
      else if (!client.destroyed) client.write(chunk);
    });
    client.on('close', () => {
      if (!holding) server.destroy();
    });
    server.on('close', () => client.destroy());
  }

  #track(socket: Socket): Socket {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    // The test cuts connections on purpose; 'close' follows.
    socket.on('error', () => {});
    return socket;
  }
}
