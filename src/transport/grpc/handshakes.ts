import type { Socket } from 'node:net';
import { createServer, type TlsOptions, type Server as TlsServer } from 'node:tls';
import type { Admission } from '../admission/admission.ts';
import { Connection } from '../admission/connection.ts';
import { startReading, stopReading } from './sockets.ts';

/** Handshakes of which bytes are read: Node does the work for all that arrived in one turn of the event loop. */
const MOST = 16;
/**
 * Milliseconds for which a handshake is read while others wait. Then it waits behind them, and what its client sends waits
 * in its socket. So a thousand that never go on delay another by a tenth of a second or so.
 */
const SLICE = 2;
/** Milliseconds that count in a turn for a handshake that begins: its signature is made later. */
const SIGNATURE = 1;

/**
 * A TLS server that listens nowhere: it agrees on TLS with clients on sockets that others have accepted. A handshake
 * takes a thousand times what its client sends, and anybody may begin one. So each begins at its connection's turn, and
 * few of them are read at once; all others wait in their sockets.
 */
export class Handshakes {
  readonly server: TlsServer;
  readonly #admission: Admission;
  readonly #milliseconds: number;
  /** All that have not ended, by the name of their connection. */
  readonly #byName = new Map<string, Handshake>();
  /** Those that wait, and those that are read. In order of arrival. */
  readonly #waiting = new Set<Handshake>();
  readonly #read = new Set<Handshake>();
  #slice: NodeJS.Timeout | undefined;

  /** `milliseconds`: for a handshake, its wait included. `agreed` is called with each connection that speaks TLS. */
  constructor(options: TlsOptions, milliseconds: number, admission: Admission, agreed: (socket: Socket) => void) {
    this.#admission = admission;
    this.#milliseconds = milliseconds;
    this.server = createServer({ ...options, handshakeTimeout: milliseconds, ALPNProtocols: ['h2'] }, (socket) => {
      this.#byName.get(nameOf(socket))?.over();
      agreed(socket);
    });
    // A failed or slow handshake leaves its connection open.
    this.server.on('tlsClientError', (_error, socket) => socket.destroy());
  }

  /** Agrees on TLS on a socket, whatever was read of it and put back. */
  add(socket: Socket): void {
    stopReading(socket);
    const name = nameOf(socket);
    const handshake = new Handshake(socket, this.#admission, () => this.server.emit('connection', socket));
    const timer = setTimeout(() => handshake.end(), this.#milliseconds);
    handshake.over = () => {
      handshake.over = () => {};
      clearTimeout(timer);
      // A lost connection may be found closed when its client has opened another one on its port.
      if (this.#byName.get(name) === handshake) this.#byName.delete(name);
      this.#admission.closed(handshake);
      this.#waiting.delete(handshake);
      if (this.#read.delete(handshake)) this.#next();
    };
    socket.once('close', () => handshake.over());
    this.#byName.set(name, handshake);
    this.#waiting.add(handshake);
    this.#next();
  }

  #next(): void {
    for (const handshake of this.#waiting) {
      if (this.#read.size === MOST) break;
      this.#waiting.delete(handshake);
      this.#read.add(handshake);
      this.#admission.turns.add(handshake);
    }
    if (this.#waiting.size > 0) this.#slice ??= setTimeout(() => this.#rotate(), SLICE);
  }

  /** Those that were read for a slice let others go on. */
  #rotate(): void {
    this.#slice = undefined;
    for (const handshake of this.#read) {
      if (!handshake.stop()) continue;
      this.#read.delete(handshake);
      this.#waiting.add(handshake);
    }
    this.#next();
  }
}

/** A connection that does not speak TLS yet. */
class Handshake extends Connection {
  readonly protocol = 'grpc';
  /** It is a handshake no more. */
  over: () => void = () => {};
  readonly #socket: Socket;
  readonly #admission: Admission;
  readonly #begin: () => void;
  #hasBegun = false;

  constructor(socket: Socket, admission: Admission, begin: () => void) {
    super(admission.fresh.grpc);
    this.#socket = socket;
    this.#admission = admission;
    this.#begin = begin;
    admission.memory.add(this);
    admission.memory.set(this, socket.readableLength);
  }

  override work(): boolean {
    if (this.#socket.destroyed) return false;
    if (this.#hasBegun) startReading(this.#socket);
    else {
      this.#hasBegun = true;
      this.#admission.turns.follows(SIGNATURE);
      this.#begin();
    }
    return false;
  }

  /** Reads no more until its next turn. Returns false while it waits for its turn. */
  stop(): boolean {
    if (this.waitsAs !== undefined) return false;
    stopReading(this.#socket);
    return true;
  }

  override end(): void {
    this.#socket.destroy();
  }
}

/** What tells an open connection from all others: of the socket that it was begun on, TLS has no more. */
const nameOf = ({ remoteAddress, remotePort, localAddress }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress}`;
