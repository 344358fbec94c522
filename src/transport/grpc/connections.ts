import type { Socket } from 'node:net';

/** Milliseconds for a client to read why its connection ends. */
const FAREWELL = 1_000;

/**
 * The open connections by peer, under the name that a call has for its peer. grpc-js can end a call, but not its
 * connection.
 */
export class Connections {
  readonly #sockets = new Map<string, Socket>();

  /** Keeps a connection until it closes. */
  add(socket: Socket): void {
    const peer = peerOf(socket);
    this.#sockets.set(peer, socket);
    socket.once('close', () => this.#sockets.delete(peer));
  }

  /** Ends the connection of a peer, with all its calls. */
  breakOff(peer: string): void {
    this.#sockets.get(peer)?.destroy();
  }

  /** Ends the connection of a peer after a moment, in which the client may read why. */
  breakOffSoon(peer: string): void {
    const socket = this.#sockets.get(peer);
    setTimeout(() => socket?.destroy(), FAREWELL).unref();
  }
}

/** The name of a connection's peer. */
export const peerOf = ({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string =>
  `${remoteAddress}:${remotePort}`;
