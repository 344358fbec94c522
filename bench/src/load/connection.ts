import { connect, type Socket } from 'node:net';
import type { Line, Listener } from './line.ts';

/** Bytes of one read. All sockets share them: what was read is looked at before the next read. */
const buffer = Buffer.allocUnsafe(256 * 1024);
/** Bytes in which the headers of an answer end. */
const HEAD = 1_024;

/** A line of HTTP/1.1. Of an answer, it reads status and length. */
export class Connection implements Line {
  readonly #socket: Socket;
  readonly #render: () => string;
  readonly #listener: Listener;
  /** When the request that waits for its answer was to be sent. */
  #planned: number | undefined;
  #status = 0;
  /** Bytes of the answer that are still to come. */
  #left = 0;

  /** `render` makes its requests. */
  constructor(url: string, render: () => string, listener: Listener) {
    this.#render = render;
    const { hostname: host, port } = new URL(url);
    this.#listener = listener;
    const onread = { buffer, callback: (length: number) => this.#take(length) };
    this.#socket = connect({ host, port: Number(port), noDelay: true, onread });
    this.#socket.on('error', () => {}).on('close', () => listener.closed(this));
  }

  send(planned: number): void {
    this.#planned = planned;
    this.#socket.write(this.#render(), 'latin1');
  }

  close(): void {
    this.#planned = undefined;
    this.#socket.destroy();
  }

  #take(length: number): boolean {
    if (this.#status === 0) this.#begin(length);
    this.#left -= length;
    if (this.#left > 0 || this.#planned === undefined) return true;
    const [status, planned] = [this.#status, this.#planned];
    [this.#status, this.#planned] = [0, undefined];
    this.#listener.answered(this, status, planned);
    return true;
  }

  /** Reads status and length. An answer's headers come in one piece. */
  #begin(length: number): void {
    const head = buffer.toString('latin1', 0, Math.min(length, HEAD));
    const found = /\r\ncontent-length: (\d+)\r\n/i.exec(head);
    const end = head.indexOf('\r\n\r\n');
    if (found === null || end === -1) throw new Error(`not an answer of known length: ${head}`);
    this.#status = Number(head.slice(9, 12));
    this.#left = end + 4 + Number(found[1]);
  }
}
