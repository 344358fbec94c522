import { Code, ConnectError } from '@connectrpc/connect';

/** A call that the service answered with an error, in its words. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Whether a call failed since the service could not be reached, or left in the middle. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof Refused) return false;
  if (error instanceof DOMException) return error.name === 'TimeoutError';
  if (!(error instanceof ConnectError)) return error instanceof TypeError;
  if (error.cause instanceof TypeError) return true;
  // A stream that breaks off has no end.
  return /missing EndStreamResponse|premature/i.test(error.rawMessage);
}

/** Whether a call failed since the token is not taken. */
export const isUnauthenticated = (error: unknown): boolean =>
  error instanceof ConnectError
    ? error.code === Code.Unauthenticated
    : error instanceof Refused && error.status === 401;

/** What to tell people: the service's own words, where it had any. */
export function messageOf(error: unknown): string {
  if (error instanceof Refused) return error.message;
  if (isUnreachable(error)) return 'The service cannot be reached.';
  return error instanceof ConnectError ? error.rawMessage : String(error);
}
