import type { ServerResponse } from 'node:http';
import { type ContextValues, createContextValues } from '@connectrpc/connect';
import type { FastifyRequest } from 'fastify';
import { type CallContext, idempotencyHeaderKey, principalKey } from '../../plants/call.ts';

/** A call of the service that a REST request makes. */
export class RestCall implements CallContext {
  readonly values: ContextValues;
  readonly #response: ServerResponse;
  #signal: AbortSignal | undefined;

  /** `request` is authenticated. */
  constructor({ principal, headers }: FastifyRequest, response: ServerResponse) {
    this.values = createContextValues().set(principalKey, principal!);
    const idempotencyKey = headers['idempotency-key'];
    if (idempotencyKey !== undefined) this.values.set(idempotencyHeaderKey, idempotencyKey);
    this.#response = response;
  }

  /** Aborted when the client goes away before it was answered. Made when it is asked for. */
  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.#response);
    return this.#signal;
  }
}

function signalOf(response: ServerResponse): AbortSignal {
  if (response.closed) return AbortSignal.abort();
  const controller = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) controller.abort();
  });
  return controller.signal;
}
