import {
  ConnectionError,
  IdempotencyKeyReusedError,
  InvalidRequestError,
  PlantAlreadyExistsError,
  PlantNotFoundError,
  PlantStoreError,
} from './errors.ts';

/** Attempts at one request, the first included. */
export const ATTEMPTS = 6;

/** Milliseconds of the first pause at most; each further one may be twice as long. */
const FIRST_PAUSE = 100;

/** Milliseconds that a pause lasts at most, unless the service asks for more. */
const LONGEST_PAUSE = 10_000;

/** Milliseconds of Retry-After that a request waits at most. It fails at once where the service asks for more. */
const LONGEST_RETRY_AFTER = 60_000;

const RETRIED: readonly number[] = [408, 429, 502, 503, 504];

/** Whether another attempt may succeed. It is safe for a write only under the same idempotency key. */
export function mayRetry(error: unknown): boolean {
  if (error instanceof ConnectionError) return true;
  return (
    error instanceof PlantStoreError && RETRIED.includes(error.status) && (error.retryAfter ?? 0) <= LONGEST_RETRY_AFTER
  );
}

/** Whether the attempt that failed so may have been applied. Failures whose reason the service names were not, but for one. */
export const mayBeApplied = (error: unknown): boolean =>
  error instanceof PlantStoreError
    ? error.status >= 500 && ['', 'OUTCOME_UNKNOWN', 'INTERNAL'].includes(error.reason)
    : error instanceof ConnectionError;

/** Whether a refusal holds for the earlier attempts at a write too, which had the same idempotency key. */
export const isConclusive = (error: unknown): boolean =>
  [PlantAlreadyExistsError, PlantNotFoundError, IdempotencyKeyReusedError, InvalidRequestError].some(
    (refusal) => error instanceof refusal,
  );

/**
 * Milliseconds before the next attempt after so many that failed in a row: random up to a bound that doubles, so that clients
 * that failed together do not come back together; and never less than the service asks for.
 */
export function pauseAfter(failures: number, error: unknown): number {
  const random = Math.random() * Math.min(FIRST_PAUSE * 2 ** (failures - 1), LONGEST_PAUSE);
  return random + ((error instanceof PlantStoreError && error.retryAfter) || 0);
}

/** Waits. Rejects with the signal's reason when it aborts. */
export function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
