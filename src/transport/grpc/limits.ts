import type { ServerOptions } from '@grpc/grpc-js';
import { MAX_MESSAGE } from '../message-size.ts';

/**
 * Bounds on what one client can make the server hold. Metadata has Node's own: 64 KiB and 128 entries a call, and 1,000 streams
 * reset at once or 33 a second before the connection is closed, which stops a rapid reset.
 *
 * A connection that is mute, or whose client is gone, is found by a ping and closed within `idleTimeout`, in seconds.
 */
export const limitsOf = (idleTimeout: number): ServerOptions => ({
  'grpc.max_receive_message_length': MAX_MESSAGE,
  // Bounds the messages half received on a connection to 8 MiB. A client with more calls queues them itself.
  'grpc.max_concurrent_streams': 128,
  'grpc.keepalive_time_ms': idleTimeout * 500,
  'grpc.keepalive_timeout_ms': idleTimeout * 400,
  'grpc.max_connection_idle_ms': 5 * 60_000,
  // Connections move to new instances behind a balancer. The grace lets the longest list of plants end, which has 4 minutes.
  'grpc.max_connection_age_ms': 60 * 60_000,
  'grpc.max_connection_age_grace_ms': 5 * 60_000,
});
