import { Code, ConnectError } from '@connectrpc/connect';

/** A call that the service answered with an error, in the service's words. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Whether a call failed because the service was unreachable, or the connection broke. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof Refused) return false;
  if (error instanceof DOMException) return error.name === 'TimeoutError';
  if (!(error instanceof ConnectError)) return error instanceof TypeError;
  if (error.cause instanceof TypeError) return true;
  // A stream that breaks off has no end message.
  return /missing EndStreamResponse|premature/i.test(error.rawMessage);
}

/** Whether a call failed because the service refuses the token. */
export const isUnauthenticated = (error: unknown): boolean =>
  error instanceof ConnectError
    ? error.code === Code.Unauthenticated
    : error instanceof Refused && error.status === 401;

/** The message for people: the service's own words, if there are any. */
export function messageOf(error: unknown): string {
  if (error instanceof Refused) return error.message;
  if (isUnreachable(error)) return 'The service cannot be reached.';
  return error instanceof ConnectError ? error.rawMessage : String(error);
}
