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
