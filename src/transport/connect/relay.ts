import { ConnectError, type ContextValues, type Interceptor } from '@connectrpc/connect';
import type { FastifyRequest } from 'fastify';
import { PlantStoreError } from '../../domain/errors.ts';
import { connectErrorOf } from './errors.ts';

/**
 * Calls a method and maps its errors, at once or in the middle of a stream, to Connect's errors. A call that exceeded
 * its time limit fails as such, whatever the method returned; a stream ends there.
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

/**
 * The cause of a call's failure. If the service ended the call, or the client left, that is the cause, whatever the
 * method threw.
 */
function causeOf(thrown: unknown, { reason }: AbortSignal): unknown {
  if (isOurs(reason)) return reason;
  return thrown === reason ? new PlantStoreError('CANCELLED', 'the client went away') : thrown;
}

/** Whether the service ended the call: by its time limit, or because the server stops. */
const isOurs = (reason: unknown) => reason instanceof ConnectError || reason instanceof PlantStoreError;

async function* messages<Message>(
  source: AsyncIterable<Message>,
  signal: AbortSignal,
  errorOf: (thrown: unknown) => ConnectError,
): AsyncGenerator<Message> {
  const iterator = source[Symbol.asyncIterator]();
  // When the client leaves during a write, Connect never asks for more, and nothing else would end the source.
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
