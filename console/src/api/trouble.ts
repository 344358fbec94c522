import { Code, ConnectError } from '@connectrpc/connect';
import { ConnectionError, OutcomeUnknownError, UnauthenticatedError } from '../../../client/index.ts';

/** Whether a call failed because the service was unreachable, or the connection broke. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof OutcomeUnknownError) return isUnreachable(error.cause);
  if (error instanceof DOMException) return error.name === 'TimeoutError';
  if (!(error instanceof ConnectError)) return error instanceof TypeError || error instanceof ConnectionError;
  if (error.cause instanceof TypeError) return true;
  // A stream that breaks off has no end message.
  return /missing EndStreamResponse|premature/i.test(error.rawMessage);
}

/** Whether a call failed because the service refuses the token. */
export const isUnauthenticated = (error: unknown): boolean =>
  error instanceof ConnectError ? error.code === Code.Unauthenticated : error instanceof UnauthenticatedError;

/** The message for people: the service's own words, if there are any. */
export function messageOf(error: unknown): string {
  if (isUnreachable(error)) return 'The service cannot be reached.';
  if (error instanceof ConnectError) return error.rawMessage;
  return error instanceof Error ? error.message : String(error);
}
