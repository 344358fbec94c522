/** A reply of HTTP/1.1, as far as it is compared. */
export interface Reply {
  readonly status: number;
  readonly body: Buffer;
}

const END_OF_HEAD = '\r\n\r\n';
const END_OF_CHUNKS = '0\r\n\r\n';

/**
 * The reply that some bytes are, or undefined while they are not yet a whole one. For one reply at a time, as there is
 * when no requests are pipelined; trailers are not understood.
 */
export function parseReply(bytes: Buffer): Reply | undefined {
  const headEnd = bytes.indexOf(END_OF_HEAD);
  if (headEnd === -1) return undefined;
  const head = bytes.toString('latin1', 0, headEnd).toLowerCase();
  const status = Number(head.slice(9, 12));
  const rest = bytes.subarray(headEnd + END_OF_HEAD.length);
  if (head.includes('transfer-encoding: chunked')) {
    if (!rest.subarray(-END_OF_CHUNKS.length).equals(Buffer.from(END_OF_CHUNKS))) return undefined;
    return { status, body: dechunk(rest) };
  }
  const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0);
  return rest.length < length ? undefined : { status, body: rest };
}

function dechunk(bytes: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (!(size > 0)) return Buffer.concat(chunks);
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}
