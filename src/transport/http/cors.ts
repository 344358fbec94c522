import { cors } from '@connectrpc/connect';
import fastifyCors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';

/** Headers that a script may send, beside those of the protocols. */
const ALLOWED = [
  'Authorization',
  'Idempotency-Key',
  'If-None-Match',
  'Last-Event-ID',
  'Traceparent',
  'Tracestate',
  'X-Request-Id',
];

/** Headers of ours that a script may read. */
const EXPOSED = [
  ...['ETag', 'Idempotency-Replayed', 'Link', 'Plantstore-Position', 'Plantstore-Reason'],
  ...['Retry-After', 'WWW-Authenticate', 'X-Request-Id'],
];

/**
 * Lets scripts of these origins (such as `https://app.example`, or `*` for all) call REST, Connect and gRPC-Web from a browser.
 * Cookies are never asked for: a caller is who its token says. Without a call of this, no foreign script reads anything.
 */
export function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  app.register(fastifyCors, {
    origin: [...origins],
    methods: ['DELETE', ...cors.allowedMethods],
    allowedHeaders: [...ALLOWED, ...cors.allowedHeaders],
    exposedHeaders: [...EXPOSED, ...cors.exposedHeaders],
    maxAge: 7200,
    // Its own refusal of an OPTIONS that is no preflight would have another form than the Error body.
    strictPreflight: false,
  });
}
