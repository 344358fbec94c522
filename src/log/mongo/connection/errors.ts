import { MongoError, MongoErrorLabel, MongoNetworkError, MongoServerError } from 'mongodb';

/** The error codes of MongoDB that are handled. */
export const CODE = {
  badValue: 2,
  unauthorized: 13,
  authenticationFailed: 18,
  namespaceNotFound: 26,
  namespaceExists: 48,
  duplicateKey: 11000,
} as const;

/** Whether a server answered with this code. */
export const hasCode = (error: unknown, code: number): boolean =>
  error instanceof MongoServerError && error.code === code;

/** Resolves when the step is done or has failed with this code. */
export async function ignoring(code: number, step: Promise<unknown>): Promise<void> {
  try {
    await step;
  } catch (error) {
    if (!hasCode(error, code)) throw error;
  }
}

/** Whether a transaction certainly did nothing, and may be retried from its start. */
export const isTransient = (error: unknown): boolean =>
  error instanceof MongoError && error.hasErrorLabel(MongoErrorLabel.TransientTransactionError);

/**
 * Error codes of servers that shut down or are no longer the primary, as listed in MongoDB's specification of retryable
 * reads.
 */
const GONE = new Set([6, 7, 89, 91, 134, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436]);

/** The result of a read. Retries it once when its server went away, as the driver does with its own reads. */
export async function retried<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const gone = error instanceof MongoServerError ? GONE.has(Number(error.code)) : error instanceof MongoNetworkError;
    if (!gone) throw error;
    return await read();
  }
}
