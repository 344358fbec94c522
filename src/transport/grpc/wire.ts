import type { Http2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';

/** Takes the outcome of a write. */
type Sent = (error?: Error | null) => void;

/** What Node makes of a stream for a session: private members. */
interface Adapter {
  readonly _handle: object;
  finishWrite(handle: object, status: number): void;
}

/**
 * What a session over HTTP/2 has in place of its socket, from which Node would read up to 2 MiB at once, past
 * everybody's turn. It gets the bytes that it is handed. What it sends goes to the socket at once.
 *
 * Node's adapter of streams calls the methods that are here. It waits for the end of each write before the next one, so
 * a stream's own buffers, which cost as much as the rest of a small call, have nothing to do.
 */
export class Wire extends Duplex {
  readonly #socket: Socket;
  #endWrite: (() => void) | undefined;
  #parts: Uint8Array[] = [];
  #sent: Sent[] = [];

  /** Ends with its socket, and the socket with it. */
  constructor(socket: Socket) {
    super();
    this.#socket = socket;
    // What a session does to a socket of its own.
    socket.setNoDelay();
    if (socket instanceof TLSSocket) socket.disableRenegotiation();
    // The adapter fails where a session still writes behind the end of either side, so it hears of the close alone.
    const close = () => this.destroy();
    socket.on('error', close).on('end', close).on('close', close);
  }

  /**
   * Lets a write end as soon as the system has taken it, once the session is known. Node's adapter itself waits for a
   * turn of the event loop, with which a call of one connection takes a fifth more CPU.
   */
  attach({ socket }: Http2Session): void {
    const { finishWrite, _handle } = socket as unknown as Adapter;
    this.#endWrite ??= () => finishWrite(_handle, 0);
  }

  /** The session parses these bytes before it returns, unless it has ended its side: it would write behind that. */
  handOver(bytes: Buffer): void {
    if (!this.writableEnded) this.emit('data', bytes);
  }

  /** Nothing is handed over but in turns. */
  override pause(): this {
    return this;
  }

  override resume(): this {
    return this;
  }

  /** The parts of a write follow. */
  override cork(): void {}

  override write(part: Uint8Array, sent: unknown): boolean {
    this.#parts.push(part);
    this.#sent.push(sent as Sent);
    return true;
  }

  override uncork(): void {
    const [parts, all] = [this.#parts, this.#sent];
    this.#parts = [];
    this.#sent = [];
    let isEnded = false;
    this.#socket.write(parts.length === 1 ? parts[0]! : Buffer.concat(parts), (error) => {
      if (!isEnded) for (const sent of all) sent(error);
    });
    if (this.#endWrite === undefined || this.#socket.writableLength > 0) return;
    isEnded = true;
    process.nextTick(this.#endWrite);
  }

  override _final(ended: () => void): void {
    this.#socket.end(ended);
  }

  override _destroy(error: Error | null, destroyed: (error: Error | null) => void): void {
    this.#socket.destroy();
    destroyed(error);
  }
}
