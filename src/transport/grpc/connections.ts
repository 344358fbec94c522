import type { Socket } from 'node:net';

/**
 * The open connections by peer, under the name that a call has for its peer. grpc-js can end a call, but not its
 * connection.
 */
export class Connections {
  readonly #sockets = new Map<string, Socket>();

  /** Keeps a connection until it closes. */
  add(socket: Socket): void {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    this.#sockets.set(peer, socket);
    socket.once('close', () => this.#sockets.delete(peer));
  }

  /** Ends the connection of a peer, with all its calls. */
  breakOff(peer: string): void {
    this.#sockets.get(peer)?.destroy();
  }
}
