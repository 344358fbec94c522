import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { PlantStoreError, toPlantStoreError } from '../domain/errors.ts';
import { shareCalls } from '../time/share-calls.ts';
import type { Health } from './health.ts';
import type { Metrics } from './metrics/metrics.ts';

/** Most open connections. For one more, the oldest is closed, so that idle connections keep no probe out. */
const MAX_CONNECTIONS = 256;

type Page = (response: ServerResponse) => unknown;

/**
 * Starts the HTTP server for operators: `/livez` (200 while the process responds), `/readyz` (200 or 503, with reasons)
 * and `/metrics` (text format of Prometheus). Resolves with its base URL, such as `http://127.0.0.1:9464`, and with
 * what closes it and all connections. Rejects if the port is taken or not permitted.
 */
export async function startAdminServer(health: Health, host: string, port: number, metrics: Metrics) {
  // One takes milliseconds of the thread that serves, and grows with the number of series.
  const scrape = shareCalls(() => metrics.scrape());
  const pages = new Map<string, Page>([
    ['/livez', (response) => send(response, 200, { status: 'live' })],
    ['/readyz', (response) => send(response, health.ready ? 200 : 503, readiness(health))],
    ['/metrics', (response) => sendMetrics(response, scrape)],
  ]);
  const server = createServer((request, response) => {
    const page = pages.get((request.url ?? '').split('?', 1)[0]!);
    if (page === undefined)
      return fail(
        response,
        new PlantStoreError('ROUTE_NOT_FOUND', `unknown path; use one of ${[...pages.keys()].join(', ')}`),
      );
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return fail(response, new PlantStoreError('METHOD_NOT_ALLOWED', 'use GET or HEAD'));
    }
    page(response);
  });
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    const [oldest] = open;
    if (open.size === MAX_CONNECTIONS) oldest!.destroy();
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  server.listen(port, host);
  await once(server, 'listening');
  return { url: urlOf(server), close: () => close(server) };
}

const readiness = (health: Health) => ({
  status: health.status,
  dependencies: health.dependencies(),
});

const fail = (response: ServerResponse, error: PlantStoreError) =>
  send(response, error.status, { error: error.code, message: error.message });

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(`${JSON.stringify(body)}\n`);
}

async function sendMetrics(response: ServerResponse, scrape: Metrics['scrape']): Promise<void> {
  try {
    const { type, text } = await scrape();
    response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' });
    response.end(text);
  } catch (thrown) {
    fail(response, toPlantStoreError(thrown));
  }
}

/** The URL of a server that listens. */
export function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
