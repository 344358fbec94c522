import type { Server } from 'node:net';
import type { Logger } from '../../observe/logger.ts';

/** Bounds on the connections to a port. */
export interface ConnectionLimits {
  /** Most at once; more are closed at once. */
  readonly maxConnections: number;
  /** Seconds in which a request must have arrived whole. */
  readonly requestTimeout: number;
  /** Seconds after which a connection is closed on which no request comes, or whose client takes nothing of its answer. */
  readonly idleTimeout: number;
}

/** Milliseconds between two lines of the log about connections that were refused. */
const REPORT = 10_000;

/**
 * Lets so many connections be open at once; what comes beyond is closed before a byte of it is read, so that nobody can be told
 * why but the operator: the log says how many there were.
 */
export function limitConnections(server: Server, maximum: number, logger: Pick<Logger, 'warn'>): void {
  server.maxConnections = maximum;
  let refused = 0;
  let reported = Number.NEGATIVE_INFINITY;
  server.on('drop', () => {
    refused++;
    if (performance.now() - reported < REPORT) return;
    logger.warn({ refused, maximum }, 'too many connections');
    reported = performance.now();
    refused = 0;
  });
}
