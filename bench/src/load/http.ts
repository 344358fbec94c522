import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Done, HttpJob, HttpRequest } from './job.ts';
import { parseReply, type Reply } from './reply.ts';
import { Stopwatch } from './sample.ts';

/** Decimal digits of every id, so that a request's length is known before its id is. */
const ID_LENGTH = 10;

interface Prepared {
  readonly takesId: boolean;
  readonly status: number;
  render(token: string, id: string): string;
  expected(id: string): Buffer;
}

/**
 * Runs a job on raw sockets, with requests that are rendered beforehand: a general client needs more CPU for a request
 * than the fastest servers that are measured here, and shares the cores with them. Rejects at the first reply that is
 * not the expected one.
 */
export async function runHttp({ urls, tokens, requests, connections, seconds, ids }: HttpJob): Promise<Done> {
  const prepared = requests.map(prepare);
  const sockets = await Promise.all(
    Array.from({ length: connections }, (_, index) => open(urls[index % urls.length]!)),
  );
  const stopwatch = new Stopwatch();
  let [made, nextId] = [0, ids?.from ?? 0];
  const client = async (socket: Socket): Promise<void> => {
    const exchange = exchanges(socket);
    while (!stopwatch.isOver(seconds)) {
      const request = prepared[made % prepared.length]!;
      if (request.takesId && nextId === ids?.to) return;
      const token = tokens[made++ % tokens.length]!;
      const id = request.takesId ? `${nextId++}` : '';
      const since = performance.now();
      const { status, body } = await exchange(request.render(token, id));
      if (status !== request.status || !body.equals(request.expected(id)))
        throw new Error(`a wrong reply: ${status} ${body.subarray(0, 200)}`);
      stopwatch.done(since);
    }
  };
  try {
    await Promise.all(sockets.map(client));
    return { ...stopwatch.sample(), nextId };
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

function prepare({ method, path, body = '', status, reply }: HttpRequest): Prepared {
  const takesId = `${path}${body}`.includes('{id}');
  const length = body.replaceAll('{id}', ' '.repeat(ID_LENGTH)).length;
  const content = body === '' ? '' : `content-type: application/json\r\ncontent-length: ${length}\r\n`;
  const text = `${method} ${path} HTTP/1.1\r\nhost: localhost\r\n{authorization}${content}\r\n${body}`;
  const fixed = Buffer.from(reply);
  return {
    takesId,
    status,
    render: (token, id) =>
      (takesId ? text.replaceAll('{id}', id) : text).replace(
        '{authorization}',
        token === '' ? '' : `authorization: Bearer ${token}\r\n`,
      ),
    expected: (id) => (reply.includes('{id}') ? Buffer.from(reply.replaceAll('{id}', id)) : fixed),
  };
}

async function open(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  await once(socket, 'connect');
  return socket;
}

/**
 * A function that sends a request and resolves with its reply; to be called again only then. Rejects when the
 * connection ends.
 */
function exchanges(socket: Socket): (request: string) => Promise<Reply> {
  let waiting: PromiseWithResolvers<Reply> | undefined;
  let received: Buffer[] = [];
  socket.on('data', (chunk) => {
    received.push(chunk);
    const reply = parseReply(received.length === 1 ? chunk : Buffer.concat(received));
    if (reply === undefined) return;
    received = [];
    waiting?.resolve(reply);
  });
  socket.on('error', (error) => waiting?.reject(error));
  socket.on('close', () => waiting?.reject(new Error('the server closed the connection')));
  return (request) => {
    waiting = Promise.withResolvers();
    socket.write(request, 'latin1');
    return waiting.promise;
  };
}
