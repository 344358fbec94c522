import type { ServerResponse } from 'node:http';
import { type ContextValues, createContextValues } from '@connectrpc/connect';
import type { FastifyRequest } from 'fastify';
import { idempotencyHeaderKey, lastsKey, principalKey, type UnaryContext } from '../../plants/call.ts';
import { entrantOf } from './entrant.ts';

/** A call of the service that a REST request makes. */
export class RestCall implements UnaryContext {
  readonly values: ContextValues;
  readonly signal: UnaryContext['signal'];

  /** `request` is authenticated. */
  constructor({ principal, headers, raw }: FastifyRequest, response: ServerResponse) {
    this.values = createContextValues().set(principalKey, principal!);
    const idempotencyKey = headers['idempotency-key'];
    if (idempotencyKey !== undefined) this.values.set(idempotencyHeaderKey, idempotencyKey);
    this.values.set(lastsKey, () => entrantOf(raw)?.leave());
    this.signal = new Departure(response);
  }
}

/** Whether the client went away before it was answered: asked when it matters, as a signal for each request would cost more. */
class Departure {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get aborted(): boolean {
    return this.#response.closed && !this.#response.writableFinished;
  }
}
