import { cors } from '@connectrpc/connect';
import fastifyCors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';

/** Request headers that a script may send, in addition to those of the protocols. */
const ALLOWED = [
  'Authorization',
  'Idempotency-Key',
  'If-None-Match',
  'Last-Event-ID',
  'Traceparent',
  'Tracestate',
  'X-Request-Id',
];

/** Response headers of the service that a script may read. */
const EXPOSED = [
  ...['ETag', 'Idempotency-Replayed', 'Link', 'Plantstore-Position', 'Plantstore-Reason'],
  ...['Retry-After', 'WWW-Authenticate', 'X-Request-Id'],
];

/**
 * Lets scripts of these origins (such as `https://app.example`, or `*` for all) call REST, Connect and gRPC-Web from a
 * browser. It never allows cookies: the token alone authenticates a caller. Without this call, no script of another
 * origin can read anything.
 */
export function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  app.register(fastifyCors, {
    origin: [...origins],
    methods: ['DELETE', ...cors.allowedMethods],
    allowedHeaders: [...ALLOWED, ...cors.allowedHeaders],
    exposedHeaders: [...EXPOSED, ...cors.exposedHeaders],
    maxAge: 7200,
    // The plugin's own refusal of an OPTIONS request that is no preflight lacks the Error body.
    strictPreflight: false,
  });
}
