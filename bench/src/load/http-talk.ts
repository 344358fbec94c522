import type { Socket } from 'node:net';
import type { Count } from './crowd.ts';

const STATUS_LINE = Buffer.from('HTTP/1.1 ');
/** Bytes of a status line up to the end of its status. */
const LENGTH = STATUS_LINE.length + 3;

/**
 * Sends some bytes on a connection of HTTP/1.1, and again whenever so many answers have come (Infinity: never). It
 * counts the answers by status, and looks at nothing else of them.
 */
export function talkHttp(socket: Socket, count: Count, bytes: Buffer, answers: number): void {
  let missing = answers;
  let tail: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    const read = Buffer.concat([tail, chunk]);
    for (let at = read.indexOf(STATUS_LINE); at !== -1 && at + LENGTH <= read.length; ) {
      count(read.toString('latin1', at + STATUS_LINE.length, at + LENGTH));
      missing--;
      at = read.indexOf(STATUS_LINE, at + LENGTH);
    }
    // Too short for a status line that was counted.
    tail = Buffer.from(read.subarray(-(LENGTH - 1)));
    if (missing > 0) return;
    missing = answers;
    socket.write(bytes);
  });
  socket.write(bytes);
}
