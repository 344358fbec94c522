import autocannon from 'autocannon';
import type { Server } from './server.ts';

/** One request, made anew each time. */
export type MakeRequest = () => {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  headers?: Record<string, string>;
  body?: string;
};

/** What one round of load gave. */
export interface Round {
  /** Replies a second. */
  readonly rate: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** CPU time of the server for one request, in microseconds. */
  readonly cpu: number;
}

/** Loads a server for some seconds. Throws when any reply was not a 2xx with the body that is expected, if one is. */
export async function load(
  server: Server,
  make: MakeRequest,
  connections: number,
  seconds: number,
  expectBody?: string,
): Promise<Round> {
  const before = server.cpu();
  let mismatches = 0;
  const result = await autocannon({
    url: server.url,
    connections,
    duration: seconds,
    requests: [
      {
        setupRequest: (request: object) => ({ ...request, ...make() }),
        onResponse: (_status: number, body: string) => {
          if (expectBody !== undefined && body !== expectBody) mismatches++;
        },
      },
    ],
  });
  const wrong = result.non2xx + result.errors + result.timeouts + mismatches;
  if (wrong > 0) throw new Error(`${server.name}: ${wrong} of ${result.requests.total} replies were wrong`);
  return {
    rate: result.requests.total / result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    cpu: (server.cpu() - before) / result.requests.total,
  };
}
