import { addAbortListener } from 'node:events';
import { Code, ConnectError, type ContextValues, type Interceptor } from '@connectrpc/connect';
import type { FastifyRequest } from 'fastify';
import { PlantStoreError } from '../../domain/errors.ts';
import { rpcErrorOf } from '../failure.ts';
import { answerOn } from '../http/connection.ts';

/** Milliseconds for a client to read the rest of a stream, and why it ends, once its time limit has passed. */
const READ_GRACE = 1_000;

/**
 * Calls a method and maps its errors, at once or in the middle of a stream, to Connect's errors. A call that exceeded
 * its time limit fails as such, whatever the method returned; a stream ends there.
 */
export const relay =
  (requestOf: (values: ContextValues) => FastifyRequest): Interceptor =>
  (next) =>
  async (request) => {
    const { signal, contextValues } = request;
    const call = requestOf(contextValues);
    call.rpcCode = 0;
    try {
      signal.throwIfAborted();
      const response = await next(request);
      signal.throwIfAborted();
      return response.stream ? { ...response, message: messages(response.message, signal, call) } : response;
    } catch (thrown) {
      throw connectErrorOf(causeOf(thrown, signal), call);
    }
  };

/** The cause of a call's failure: that the service ended it, or the client left, whatever the method threw. */
function causeOf(thrown: unknown, { reason }: AbortSignal): unknown {
  if (isOurs(reason)) return reason;
  return thrown === reason ? new PlantStoreError('CANCELLED', 'the client went away') : thrown;
}

/** Whether the service ended the call: by its time limit, or because the server stops. */
const isOurs = (reason: unknown) => reason instanceof ConnectError || reason instanceof PlantStoreError;

async function* messages<Message>(
  source: AsyncIterable<Message>,
  signal: AbortSignal,
  request: FastifyRequest,
): AsyncGenerator<Message> {
  const iterator = source[Symbol.asyncIterator]();
  // When the client leaves during a write, Connect never asks for more, and nothing else would end the source.
  const end = () => {
    void iterator.return?.().catch(() => {});
    if (isLimit(signal.reason)) endUnread(request);
  };
  using _ends = addAbortListener(signal, end);
  try {
    for await (const message of { [Symbol.asyncIterator]: () => iterator }) {
      signal.throwIfAborted();
      yield message;
    }
    signal.throwIfAborted();
  } catch (thrown) {
    throw connectErrorOf(causeOf(thrown, signal), request);
  }
}

const isLimit = (reason: unknown) => reason instanceof ConnectError && reason.code === Code.DeadlineExceeded;

/** Closes the connection of a stream that is not read to its end in time: it holds a permit until then. */
function endUnread({ raw: { socket } }: FastifyRequest): void {
  const timer = setTimeout(() => socket.destroy(), READ_GRACE);
  answerOn(socket)?.once('close', () => clearTimeout(timer));
}

/** Connect's error for any thrown value, with details as in gRPC and headers as in REST. The request notes it. */
export function connectErrorOf(
  thrown: unknown,
  request: Pick<FastifyRequest, 'id' | 'log' | 'rpcCode' | 'failure'>,
): ConnectError {
  const failure = isAnswered(thrown) ? thrown : failed(thrown, request);
  request.rpcCode = failure.code;
  return failure;
}

/** Connect's own errors about a message have no details yet. */
const isUndecoded = (thrown: unknown): thrown is ConnectError =>
  thrown instanceof ConnectError && thrown.code === Code.InvalidArgument && thrown.details.length === 0;

const isAnswered = (thrown: unknown): thrown is ConnectError => thrown instanceof ConnectError && !isUndecoded(thrown);

function failed(thrown: unknown, request: Pick<FastifyRequest, 'id' | 'log' | 'failure'>): ConnectError {
  const { id, log } = request;
  const cause = isUndecoded(thrown) ? new PlantStoreError('MALFORMED_REQUEST', thrown.rawMessage) : thrown;
  const { error, details } = rpcErrorOf(cause, log, id);
  request.failure = error;
  const { challenge, retryAfter } = error.details;
  const headers = new Headers({ 'x-request-id': id });
  if (challenge !== undefined) headers.set('www-authenticate', challenge);
  if (retryAfter !== undefined) headers.set('retry-after', String(retryAfter));
  return new ConnectError(error.message, error.code as Code, headers, [...details], thrown);
}
