import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';

/** What a connection is made of. */
export interface SocketArguments {
  readonly host: string;
  readonly port: number;
  /** Undefined: without TLS. */
  readonly ssl?: ConnectionOptions;
  readonly onConnect: () => void;
}

/**
 * All connections of one client, so that they end at once. Asked to disconnect, the library would wait for requests in vain, and
 * what it still tries would connect again.
 */
export class Sockets {
  readonly #open = new Set<Socket>();
  #closed = false;

  /** Connects. Throws once they are closed. */
  connect({ host, port, ssl, onConnect }: SocketArguments): Socket {
    if (this.#closed) throw new Error('closed');
    const servername = isIP(host) ? {} : { servername: host };
    const socket = ssl
      ? connectTls({ host, port, ...servername, ...ssl }, onConnect)
      : connectTcp({ host, port }, onConnect);
    socket.setKeepAlive(true, 60_000);
    socket.setNoDelay(true);
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    return socket;
  }

  /** Breaks off every connection, and makes no more. */
  close(): void {
    this.#closed = true;
    for (const socket of this.#open) socket.destroy(new Error('closed'));
  }
}
