import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';

/** Arguments of a connection. */
export interface SocketArguments {
  readonly host: string;
  readonly port: number;
  /** Undefined: no TLS. */
  readonly ssl?: ConnectionOptions;
  readonly onConnect: () => void;
}

/**
 * All connections of one client, to close them at once. The library's own disconnect would wait for pending requests,
 * and its retries would connect again.
 */
export class Sockets {
  readonly #open = new Set<Socket>();
  #closed = false;

  /** Connects. Throws after `close`. */
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

  /** Closes every connection, and prevents new ones. */
  close(): void {
    this.#closed = true;
    for (const socket of this.#open) socket.destroy(new Error('closed'));
  }
}
