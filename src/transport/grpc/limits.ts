import type { ServerOptions } from '@grpc/grpc-js';
import { MAX_MESSAGE } from '../message-size.ts';

/**
 * Bounds on what one client can make the server hold. For resets, Node's own bounds apply: 1,000 stream resets at once
 * or 33 a second before the connection is closed. For metadata, see GrpcConnections.
 *
 * A client that connects anew after each cut goes on, and has no advantage: a call that it resets costs what one without
 * a token costs. Its address is not banned, because behind a proxy it would be everybody's. A smaller bound on resets
 * does not help: Node has already made the calls of all 64 KiB that it reads at once.
 *
 * A ping finds silent connections and those whose client is gone. They are closed within `idleTimeout`, in seconds.
 */
export const limitsOf = (idleTimeout: number): ServerOptions => ({
  'grpc.max_receive_message_length': MAX_MESSAGE,
  // A client queues any further calls itself.
  'grpc.max_concurrent_streams': 128,
  'grpc.keepalive_time_ms': idleTimeout * 500,
  'grpc.keepalive_timeout_ms': idleTimeout * 400,
  'grpc.max_connection_idle_ms': 5 * 60_000,
  // Makes clients reconnect, so that a balancer can move them to new instances. The grace period lets the longest list
  // of plants end, which has 4 minutes.
  'grpc.max_connection_age_ms': 60 * 60_000,
  'grpc.max_connection_age_grace_ms': 5 * 60_000,
});
