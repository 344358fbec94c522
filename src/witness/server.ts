import { createServer, type IncomingMessage, type Server } from 'node:http';
import { toHex, utf8 } from '../tlog/bytes.ts';
import { sha256 } from '../tlog/hash.ts';
import type { Reply, Witness } from './witness.ts';

/** Most bytes of a request: enough for a proof, and a checkpoint with many signatures. */
const MAX_BODY = 128 * 1024;
/** Most milliseconds for a request to arrive, and most connections at once. */
const TIME_LIMIT = 10_000;
const MAX_CONNECTIONS = 100;
/** Milliseconds for what is under way when the server closes. */
const CLOSE_LIMIT = 1_000;

/** The HTTP server of a witness: `POST /add-checkpoint`, and for monitors `GET /<SHA-256 of the origin>/checkpoint`. */
export function createWitnessServer(witness: Witness): Server {
  const limits = { requestTimeout: TIME_LIMIT, headersTimeout: TIME_LIMIT, connectionsCheckingInterval: 1_000 };
  const server = createServer(limits, async (request, response) => {
    const reply = await answer(witness, request).catch((error: Error): Reply => {
      // A client that left before it had sent all is no fault of the witness.
      if (request.complete) witness.tell(error);
      return { status: 500, body: 'internal error; try again\n' };
    });
    const { status, body, type = 'text/plain; charset=utf-8' } = reply;
    response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) }).end(body);
  });
  server.maxConnections = MAX_CONNECTIONS;
  return server;
}

/** Accepts nothing more, and ends what is not over in a second: once it is closed, Node's server has no time limits. */
export function closeWitnessServer(server: Server): void {
  server.close();
  setTimeout(() => server.closeAllConnections(), CLOSE_LIMIT).unref();
}

async function answer(witness: Witness, request: IncomingMessage): Promise<Reply> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Reads a too long body to its end, so that the client gets the response.
  for await (const chunk of request) {
    length += chunk.length;
    if (length <= MAX_BODY) chunks.push(chunk);
  }
  if (length > MAX_BODY) return { status: 413, body: 'the body is too large\n' };
  const { method = '', url } = request;
  if (method === 'POST' && url === '/add-checkpoint') return witness.addCheckpoint(Buffer.concat(chunks).toString());
  const isRead = ['GET', 'HEAD'].includes(method);
  const note = isRead ? witness.checkpoint((origin) => url === `/${hashOf(origin)}/checkpoint`) : undefined;
  return note === undefined
    ? { status: 404, body: 'not found; POST /add-checkpoint, or GET the checkpoint of a log\n' }
    : { status: 200, body: note };
}

const hashOf = (origin: string): string => toHex(sha256(utf8(origin)));
