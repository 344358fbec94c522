import type { Socket } from 'node:net';
import { createServer, type TlsOptions, type Server as TlsServer } from 'node:tls';
import type { Admission } from '../admission/admission.ts';
import { Connection } from '../admission/connection.ts';
import { EarlyBytes, startReading, stopReading } from './sockets.ts';

/** Handshakes of which bytes are read: Node does the work for all that arrived in one turn of the event loop. */
const MAX_READ = 16;
/** Most handshakes that wait for their turn to begin. The other places are for those that have begun. */
const MAX_NEXT = 8;
/**
 * Milliseconds for which a handshake is read while others wait. Then it waits behind them, and what its client sends
 * waits in its socket. So hundreds that never go on delay another by a tenth of a second or so.
 */
const SLICE_LIMIT = 2;
/** Milliseconds that count in a turn for a handshake that begins: its signature is made later. */
const SIGNATURE_COST = 1;
/** The first byte of a TLS connection (RFC 8446, section 5.1). No HTTP/2 connection begins with it. */
const TLS_HANDSHAKE = 22;
/** The head of a record, where its length stands in it, and the longest record. */
const HEAD_BYTES = 5;
const LENGTH_OFFSET = 3;
const MAX_RECORD = HEAD_BYTES + 16 * 1024;
/** What TLS takes in memory from the begin of a handshake on, outside of V8's heap. */
export const HANDSHAKE_HELD = 64 * 1024;

/**
 * A TLS server that listens nowhere: it agrees on TLS with clients on sockets that others have accepted. A handshake
 * takes a thousand times what its client sends, of time and of memory, and anybody may begin one. So each begins at its
 * connection's turn, once the client's first record is there, and then counts as memory of requests. Few of them are
 * read at once; all others wait in their sockets.
 */
export class Handshakes {
  readonly server: TlsServer;
  readonly #admission: Admission;
  readonly #milliseconds: number;
  readonly #plain: (socket: Socket) => void;
  /** All that have not ended, by the name of their connection. */
  readonly #byName = new Map<string, Handshake>();
  /** Those that may begin. The newest begins first: otherwise all would time out when more come than can begin. */
  readonly #whole: Handshake[] = [];
  /** Those whose turn to begin comes next. */
  readonly #coming = new Set<Handshake>();
  /** Those that have begun: that wait, in order of arrival, and that are read. */
  readonly #waiting = new Set<Handshake>();
  readonly #read = new Set<Handshake>();
  #slice: NodeJS.Timeout | undefined;

  /**
   * `milliseconds`: for a handshake, its wait included, and for the first byte of any connection. `agreed` gets each
   * connection that speaks TLS, and `plain` each in plaintext, with what was read of it put back.
   */
  constructor(
    options: TlsOptions,
    milliseconds: number,
    admission: Admission,
    agreed: (socket: Socket) => void,
    plain: (socket: Socket) => void,
  ) {
    this.#admission = admission;
    this.#milliseconds = milliseconds;
    this.#plain = plain;
    this.server = createServer({ ...options, ALPNProtocols: ['h2'] }, (socket) => {
      const handshake = this.#byName.get(nameOf(socket));
      if (handshake !== undefined) this.#over(handshake);
      agreed(socket);
    });
    // A failed handshake leaves its connection open.
    this.server.on('tlsClientError', (_error, socket) => socket.destroy());
  }

  /** Agrees on TLS on a socket that was accepted, or passes it on, by its first byte. */
  add(socket: Socket): void {
    const handshake = new Handshake(socket, this.#admission, this.#milliseconds, this);
    socket.once('close', () => this.#over(handshake));
    this.#byName.set(handshake.name, handshake);
  }

  /** Ends all that are under way. */
  end(): void {
    for (const handshake of this.#byName.values()) handshake.end();
  }

  /** Its connection does not begin as TLS does. */
  plain(handshake: Handshake): void {
    this.#over(handshake);
    this.#plain(handshake.socket);
  }

  /** Its client's first record is there. */
  whole(handshake: Handshake): void {
    this.#whole.push(handshake);
    this.#next();
  }

  /** It is its turn to begin. */
  begin(handshake: Handshake): void {
    this.#coming.delete(handshake);
    this.#read.add(handshake);
    this.server.emit('connection', handshake.socket);
  }

  /** It has agreed on TLS, or never will. No effect the second time. */
  #over(handshake: Handshake): void {
    if (handshake.isOver) return;
    handshake.finish();
    // A lost connection may be found closed when its client has opened another one on its port.
    if (this.#byName.get(handshake.name) === handshake) this.#byName.delete(handshake.name);
    this.#admission.closed(handshake);
    this.#forget(handshake);
    this.#next();
  }

  #forget(handshake: Handshake): void {
    const place = this.#whole.lastIndexOf(handshake);
    if (place >= 0) this.#whole.splice(place, 1);
    for (const some of [this.#coming, this.#waiting, this.#read]) some.delete(handshake);
  }

  #next(): void {
    while (this.#hasRoom() && this.#coming.size < MAX_NEXT) {
      const newest = this.#whole.pop();
      if (newest === undefined) break;
      this.#coming.add(newest);
      this.#admission.turns.add(newest);
    }
    for (const handshake of this.#waiting) {
      if (!this.#hasRoom()) break;
      this.#waiting.delete(handshake);
      this.#read.add(handshake);
      handshake.goOn();
    }
    if (this.#whole.length + this.#waiting.size > 0) this.#slice ??= setTimeout(() => this.#rotate(), SLICE_LIMIT);
  }

  #hasRoom(): boolean {
    return this.#coming.size + this.#read.size < MAX_READ;
  }

  /** Those that were read for a slice let others go on. */
  #rotate(): void {
    this.#slice = undefined;
    for (const handshake of this.#read) {
      handshake.stop();
      this.#waiting.add(handshake);
    }
    this.#read.clear();
    this.#next();
  }
}

/** A connection until it is known to be plaintext, or has agreed on TLS. */
class Handshake extends Connection {
  readonly protocol = 'grpc';
  readonly socket: Socket;
  readonly name: string;
  isOver = false;
  readonly #admission: Admission;
  readonly #all: Handshakes;
  readonly #early: EarlyBytes;
  readonly #timer: NodeJS.Timeout;
  #isWhole = false;

  /** Ends its connection after so many milliseconds, unless it is finished. */
  constructor(socket: Socket, admission: Admission, milliseconds: number, all: Handshakes) {
    super(admission.fresh.grpc);
    this.socket = socket;
    this.name = nameOf(socket);
    this.#admission = admission;
    this.#all = all;
    this.#timer = setTimeout(() => this.end(), milliseconds);
    admission.opened(this);
    this.#early = new EarlyBytes(socket, MAX_RECORD, () => this.#receive());
  }

  /** Nothing more comes of it. */
  finish(): void {
    this.isOver = true;
    clearTimeout(this.#timer);
  }

  #receive(): void {
    const { bytes } = this.#early;
    if (bytes[0] !== TLS_HANDSHAKE) {
      this.#early.putBack();
      this.#all.plain(this);
      return;
    }
    const { length } = bytes;
    if (length > MAX_RECORD) {
      this.socket.destroy();
      return;
    }
    this.#admission.memory.set(this, length);
    if (this.#isWhole || length < HEAD_BYTES || length < HEAD_BYTES + bytes.readUInt16BE(LENGTH_OFFSET)) return;
    this.#isWhole = true;
    this.#all.whole(this);
  }

  override work(): boolean {
    const { socket } = this;
    if (socket.destroyed) return false;
    this.#early.putBack();
    stopReading(socket);
    this.#admission.memory.set(this, HANDSHAKE_HELD);
    // It may have been ended to make room.
    if (socket.destroyed) return false;
    this.#admission.turns.addCost(SIGNATURE_COST);
    this.#all.begin(this);
    return false;
  }

  goOn(): void {
    startReading(this.socket);
  }

  stop(): void {
    stopReading(this.socket);
  }

  override end(): void {
    this.socket.destroy();
  }
}

/** The addresses of a connection. Nothing else of a TLS socket tells on which socket its handshake began. */
const nameOf = ({ remoteAddress, remotePort, localAddress }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress}`;
