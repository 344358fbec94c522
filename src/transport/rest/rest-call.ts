import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '../../auth/principal.ts';
import type { Call } from '../../call.ts';
import { connectionOf } from '../http/connection.ts';

/** A call of the service by a REST request. */
export class RestCall implements Call {
  readonly principal: Principal;
  readonly idempotencyKey: Call['idempotencyKey'];
  readonly signal: Call['signal'];
  replayed = false;
  readonly #raw: IncomingMessage;

  /** `request` must be authenticated. */
  constructor({ principal, headers, raw }: FastifyRequest, response: ServerResponse) {
    this.principal = principal!;
    this.idempotencyKey = headers['idempotency-key'];
    this.signal = new Abandonment(response);
    this.#raw = raw;
  }

  lasts(): void {
    // The answer to HEAD has no stream.
    if (this.#raw.method !== 'HEAD') connectionOf(this.#raw.socket)?.lasts();
  }
}

/** Whether the client left before its answer. Computed on demand: a signal for each request would cost more. */
class Abandonment {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get aborted(): boolean {
    return this.#response.closed && !this.#response.writableFinished;
  }
}
