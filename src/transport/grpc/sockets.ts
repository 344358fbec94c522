import type { Socket } from 'node:net';

/** What reads a socket: a private member of Node, whose TLS and sessions over HTTP/2 cannot be paused otherwise. */
export const handleOf = (socket: Socket) => (socket as unknown as { readonly _handle: Handle | null })._handle;

interface Handle {
  reading: boolean;
  readStop(): void;
  readStart(): void;
}

/** Reads no more of a socket until `startReading`. */
export function stopReading(socket: Socket): void {
  const handle = handleOf(socket);
  if (handle === null) return;
  handle.reading = false;
  handle.readStop();
}

/** Reads a socket again. TLS, which reads the same handle, looks at `reading` too. */
export function startReading(socket: Socket): void {
  const handle = handleOf(socket);
  if (handle === null) return;
  handle.reading = true;
  handle.readStart();
}

/**
 * What a client sends before its connection's turn comes. It is read, since nobody hears of a client that leaves a
 * socket that is not read, and waits in memory until `putBack`.
 */
export class EarlyBytes {
  bytes: Buffer = Buffer.alloc(0);
  readonly #socket: Socket;
  readonly #read: () => void;

  /** `onBytes` is called after each read. Once there are `most` bytes, no more is read. */
  constructor(socket: Socket, most: number, onBytes: () => void) {
    this.#socket = socket;
    this.#read = () => {
      const more: Buffer | null = socket.read();
      if (more === null) return;
      this.bytes = this.bytes.length === 0 ? more : Buffer.concat([this.bytes, more]);
      if (this.bytes.length >= most) {
        socket.off('readable', this.#read);
        stopReading(socket);
      }
      onBytes();
    };
    // 'close' follows an error.
    socket.on('error', () => {}).on('readable', this.#read);
  }

  /** Lets others read the socket from its beginning. This lasts as long as the socket, and keeps none of the bytes. */
  putBack(): void {
    this.#socket.off('readable', this.#read).unshift(this.bytes);
    this.bytes = Buffer.alloc(0);
  }
}
