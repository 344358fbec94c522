import { once } from 'node:events';
import { type AddressInfo, createServer, Server, type ServerOpts } from 'node:net';
import type { Logger } from '../observe/logger.ts';
import { sampler } from '../observe/sparing.ts';

/**
 * Listeners of a port. Node accepts one connection of each in a turn of the event loop, which lasts some milliseconds
 * under load: with one listener, a client would wait for seconds behind a thousand connections of another.
 */
const LISTENERS = 16;

/** Milliseconds between two log lines about connections that ended because there were too many. */
const REPORT_INTERVAL = 10_000;

/*
 * When an instance stops, in milliseconds (docs/architecture.md, "How an instance stops"). Each limit leaves time for
 * what follows it, and all of them for the rest of STOP_LIMIT (main.ts).
 */

/** For streams of Connect and gRPC to end. */
export const STREAM_LIMIT = 9_000;

/** After that, for the last status of a gRPC call to reach its caller. Its connection is then closed. */
export const STATUS_LIMIT = 200;

/** For requests over HTTP/1.1 to end, streams among them. Their connections are then closed. */
export const DRAIN_LIMIT = 10_000;

/** The listeners beside the server's own. */
const others = new WeakMap<Server, Server[]>();

/**
 * Has a server listen, and further listeners on the same port, whose connections it gets. Linux alone spreads
 * connections over several listeners; elsewhere there is one. Port 0 is any free port. Resolves with `host:port`.
 * Rejects if it cannot listen, or another does there.
 */
export async function listenWide(server: Server, host: string, port: number): Promise<string> {
  const reusePort = process.platform === 'linux';
  const claim = reusePort && port > 0 ? await claimed(host, port) : undefined;
  try {
    await once(server.listen({ host, port, reusePort }), 'listening');
  } finally {
    claim?.close();
  }
  const { address, port: taken } = server.address() as AddressInfo;
  const opened: Server[] = [];
  others.set(server, opened);
  while (reusePort && opened.length < LISTENERS - 1) opened.push(await listenFor(server, address, taken));
  return `${host.includes(':') ? `[${host}]` : host}:${taken}`;
}

/**
 * Accepts no connection more, and resolves once all are closed. Closes none itself: `close` of an HTTP server would cut
 * off the answers that their clients have not read yet.
 */
export async function closeWide(server: Server): Promise<void> {
  const all = [server, ...(others.get(server) ?? [])];
  await Promise.all(all.map((each) => new Promise((resolve) => Server.prototype.close.call(each, resolve))));
}

/** Makes the function to call for each connection that ends because there are too many: the log says how many. */
export function reportCrowd(maximum: number, logger: Pick<Logger, 'warn'>): () => void {
  const sample = sampler(REPORT_INTERVAL, 1);
  return () => {
    const before = sample('crowd');
    if (before !== undefined) logger.warn({ closed: before + 1, maximum }, 'too many connections');
  };
}

/**
 * Rejects if somebody listens there already, or begins to: two services that share their port would both seem to start.
 * What it resolves with keeps others from the port until it is closed: a name, which ends with its process.
 */
async function claimed(host: string, port: number): Promise<Server> {
  const name = createServer().listen(`\0plantstore ${host}:${port}`);
  try {
    await once(name, 'listening');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw Object.assign(new Error(`${code}: another service begins to listen there`, { cause }), { code, port });
  }
  try {
    const probe = createServer().listen({ host, port });
    await once(probe, 'listening');
    probe.close();
    await once(probe, 'close');
  } catch (error) {
    name.close();
    throw error;
  }
  return name;
}

async function listenFor(server: Server, host: string, port: number): Promise<Server> {
  // Its options are properties of it.
  const { allowHalfOpen, noDelay, pauseOnConnect } = server as Server & ServerOpts;
  const options = { allowHalfOpen, noDelay, pauseOnConnect } as ServerOpts;
  const listener = createServer(options, (socket) => {
    // Then an HTTP server takes it for its own.
    Object.assign(socket, { server: null });
    server.emit('connection', socket);
  });
  listener.listen({ host, port, reusePort: true });
  await once(listener, 'listening');
  return listener;
}
