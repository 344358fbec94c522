import { connect } from 'node:net';

/** Milliseconds in which a connection must end once it is due to: by far more than a busy machine needs. */
const HANG_LIMIT = 30_000;
/** Milliseconds without an answer after which a client that may have sent half a request says that it sends no more. */
const IDLE = 150;

/**
 * Sends bytes on a connection of their own and returns all that comes back until the server ends it. Unless the server
 * is to end it by itself, it is half closed after a while. Rejects when the server keeps it open all the same: it
 * hangs.
 */
export function exchangeBytes(url: string, bytes: Buffer, { endsItself }: { endsItself: boolean }): Promise<Buffer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    // The answer may have been read before a reset: what came counts.
    const socket = connect(Number(port), hostname)
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('error', () => {})
      .on('close', () => {
        clearTimeout(limit);
        resolve(Buffer.concat(chunks));
      });
    const limit = setTimeout(() => {
      socket.destroy();
      reject(new Error('the connection hangs'));
    }, HANG_LIMIT);
    if (!endsItself) socket.setTimeout(IDLE, () => socket.end());
    socket.write(bytes);
  });
}
