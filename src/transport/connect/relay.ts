import { ConnectError, type ContextValues, type Interceptor } from '@connectrpc/connect';
import type { FastifyRequest } from 'fastify';
import { PlantStoreError } from '../../domain/errors.ts';
import { connectErrorOf } from './errors.ts';

/**
 * Calls a method and turns what it throws, at once or in the middle of a stream, into Connect's errors. A call that outlived its
 * time limit fails as such, whatever the method made of it; a stream ends there.
 */
export const relay =
  (requestOf: (values: ContextValues) => FastifyRequest): Interceptor =>
  (next) =>
  async (request) => {
    const { signal, contextValues } = request;
    const errorOf = (thrown: unknown) => connectErrorOf(causeOf(thrown, signal), requestOf(contextValues));
    requestOf(contextValues).rpcCode = 0;
    try {
      const response = await next(request);
      return response.stream ? { ...response, message: messages(response.message, signal, errorOf) } : response;
    } catch (thrown) {
      throw errorOf(thrown);
    }
  };

/** What a call failed of: of what ended it here, or of its client going away, whatever the method made of that. */
function causeOf(thrown: unknown, { reason }: AbortSignal): unknown {
  if (isOurs(reason)) return reason;
  return thrown === reason ? new PlantStoreError('CANCELLED', 'the client went away') : thrown;
}

/** Why a call was ended here: its time limit, or the end of the server. */
const isOurs = (reason: unknown) => reason instanceof ConnectError || reason instanceof PlantStoreError;

async function* messages<Message>(
  source: AsyncIterable<Message>,
  signal: AbortSignal,
  errorOf: (thrown: unknown) => ConnectError,
): AsyncGenerator<Message> {
  const iterator = source[Symbol.asyncIterator]();
  // Where the client goes away while it is written to, Connect never asks again, and nobody else would end the source.
  const end = () => void iterator.return?.();
  signal.addEventListener('abort', end);
  try {
    for await (const message of { [Symbol.asyncIterator]: () => iterator }) {
      signal.throwIfAborted();
      yield message;
    }
    signal.throwIfAborted();
  } catch (thrown) {
    throw errorOf(thrown);
  } finally {
    signal.removeEventListener('abort', end);
  }
}
