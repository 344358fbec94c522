import { Code, ConnectError } from '@connectrpc/connect';
import type { FastifyRequest } from 'fastify';
import { PlantStoreError } from '../../domain/errors.ts';
import { rpcErrorOf } from '../failure.ts';

/**
 * Maps any thrown value to Connect's error: code, message and details as in gRPC, and headers as in REST. Records the
 * code on the request.
 */
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
