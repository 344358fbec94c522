import type { Server } from 'node:net';
import type { Logger } from '../../observe/logger.ts';

/** Bounds on the connections to a port. */
export interface ConnectionLimits {
  /** Most open connections. Any more are closed at once. */
  readonly maxConnections: number;
  /** Seconds in which a request must have arrived completely. */
  readonly requestTimeout: number;
  /**
   * Seconds after which a connection is closed when no request comes on it or its client reads nothing of its answer.
   */
  readonly idleTimeout: number;
}

/** Milliseconds between two log lines about refused connections. */
const REPORT = 10_000;

/**
 * Bounds the open connections. Closes any further connection before it reads a byte, so it cannot tell the client why.
 * The log tells the operator how many there were.
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
