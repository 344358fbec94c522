import {
  ConnectionError,
  IdempotencyKeyReusedError,
  InvalidRequestError,
  PlantAlreadyExistsError,
  PlantNotFoundError,
  PlantStoreError,
} from './errors.ts';

/** Attempts at one request, the first included: with their pauses they outlast a restart of the service. */
export const ATTEMPTS = 8;

/** Most milliseconds of the first pause; the bound doubles with each further pause. */
const FIRST_PAUSE = 100;

/** Most milliseconds of a pause, unless the service asks for more. */
const LONGEST_PAUSE = 10_000;

/**
 * Most milliseconds of a wait, also if the service asks for more. A timer holds 25 days at most, and a page that was
 * told a month by mistake is to come back by itself.
 */
const LONGEST_WAIT = 10 * 60_000;

/** Longest Retry-After that a request waits for, in milliseconds. A longer one makes the request fail at once. */
const LONGEST_RETRY_AFTER = 60_000;

/** What no attempt changes: another server than a Plant Store, or a proxy that speaks no HTTP/1.1. */
const NEVER = [501, 505];

/**
 * Whether another attempt may succeed. It is safe for a write only under the same idempotency key. That holds for a
 * fault of the service, too: another instance, or the same one a moment later, may be without it.
 */
export const mayRetry = (error: unknown): error is PlantStoreError | ConnectionError =>
  isPassing(error) && (error instanceof ConnectionError || (error.retryAfter ?? 0) <= LONGEST_RETRY_AFTER);

/** Whether an attempt may succeed later, however long the service asks to wait. */
export function isPassing(error: unknown): error is PlantStoreError | ConnectionError {
  if (error instanceof ConnectionError) return true;
  if (!(error instanceof PlantStoreError)) return false;
  const { status } = error;
  return status >= 500 ? !NEVER.includes(status) : status === 408 || status === 429;
}

/** Whether the failed attempt may have been applied. If the service names a reason, it was not, with two exceptions. */
export const mayBeApplied = (error: unknown): boolean =>
  error instanceof PlantStoreError
    ? error.status >= 500 && ['', 'OUTCOME_UNKNOWN', 'INTERNAL'].includes(error.reason)
    : error instanceof ConnectionError;

/** Whether a refusal also decides the earlier attempts at a write, which had the same idempotency key. */
export const isConclusive = (error: unknown): boolean =>
  [PlantAlreadyExistsError, PlantNotFoundError, IdempotencyKeyReusedError, InvalidRequestError].some(
    (refusal) => error instanceof refusal,
  );

/**
 * Milliseconds before the next attempt, after a number of failures in a row. Random up to a bound that doubles, so that
 * clients that failed together do not retry together, and never less than the service asks for.
 */
export function pauseAfter(failures: number, error: unknown): number {
  const random = Math.random() * Math.min(FIRST_PAUSE * 2 ** (failures - 1), LONGEST_PAUSE);
  return random + ((error instanceof PlantStoreError && error.retryAfter) || 0);
}

/** Waits, for ten minutes at most. Rejects with the signal's reason when it aborts. */
export function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    // One of its own for each pause: Node 20 warns of more than ten listeners to one signal.
    const ended = signal && AbortSignal.any([signal]);
    const stop = () => {
      clearTimeout(timer);
      reject(ended?.reason);
    };
    const timer = setTimeout(
      () => {
        ended?.removeEventListener('abort', stop);
        resolve();
      },
      Math.min(milliseconds, LONGEST_WAIT),
    );
    ended?.addEventListener('abort', stop, { once: true });
  });
}
