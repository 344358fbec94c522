import type { Socket } from 'node:net';

/** The open connections by their peers, as a call names its own: grpc-js can end a call for us, and not its connection. */
export class Connections {
  readonly #sockets = new Map<string, Socket>();

  /** Takes note of a connection until it closes. */
  add(socket: Socket): void {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    this.#sockets.set(peer, socket);
    socket.once('close', () => this.#sockets.delete(peer));
  }

  /** Breaks off the connection of a peer, with all its calls. */
  breakOff(peer: string): void {
    this.#sockets.get(peer)?.destroy();
  }
}
