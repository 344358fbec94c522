import { parseJson } from './json.ts';

/** What the service says of a failed request. */
export interface Failure {
  /** Stable, for programs (header Plantstore-Reason). Empty where the answer is not the service's own, but a proxy's. */
  readonly reason: string;
  /** HTTP status. */
  readonly status: number;
  readonly message: string;
  /** Under which the service logged the request. */
  readonly requestId: string | undefined;
  /** Milliseconds to wait before the next attempt, if the service says so. */
  readonly retryAfter: number | undefined;
}

/** The service refused the request, or failed. */
export class PlantStoreError extends Error implements Failure {
  override readonly name: string = 'PlantStoreError';
  readonly reason: string;
  readonly status: number;
  readonly requestId: string | undefined;
  readonly retryAfter: number | undefined;

  constructor({ reason, status, message, requestId, retryAfter }: Failure) {
    super(message);
    this.reason = reason;
    this.status = status;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }
}

/** The request is wrong: the message says how. */
export class InvalidRequestError extends PlantStoreError {
  override readonly name = 'InvalidRequestError';
}

/** The owner has a plant of this id. */
export class PlantAlreadyExistsError extends PlantStoreError {
  override readonly name = 'PlantAlreadyExistsError';
}

/** The owner has no plant of this id. */
export class PlantNotFoundError extends PlantStoreError {
  override readonly name = 'PlantNotFoundError';
}

/** The idempotency key came with another request. */
export class IdempotencyKeyReusedError extends PlantStoreError {
  override readonly name = 'IdempotencyKeyReusedError';
}

/** The owner is being erased and may write anew later. */
export class OwnerBeingErasedError extends PlantStoreError {
  override readonly name = 'OwnerBeingErasedError';
}

/** There is no token, or it is not valid, or no longer. */
export class UnauthenticatedError extends PlantStoreError {
  override readonly name = 'UnauthenticatedError';
}

/** The token lacks a scope. */
export class PermissionDeniedError extends PlantStoreError {
  override readonly name = 'PermissionDeniedError';
}

/** The caller sends more than it may. */
export class TooManyRequestsError extends PlantStoreError {
  override readonly name = 'TooManyRequestsError';
}

/** The service cannot do it at the moment. It did not do it. */
export class UnavailableError extends PlantStoreError {
  override readonly name = 'UnavailableError';
}

/** The service has a fault. Its log has it under the request id. */
export class InternalError extends PlantStoreError {
  override readonly name = 'InternalError';
}

/** No answer came, or only a part of one; `cause` says why. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

/** A write may have been done. Ask again with this idempotency key to learn it; `cause` is what the last attempt met. */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';
  readonly idempotencyKey: string;

  constructor(idempotencyKey: string, options: ErrorOptions) {
    super('the write may have been done: ask again with the same idempotency key', options);
    this.idempotencyKey = idempotencyKey;
  }
}

type Class = new (failure: Failure) => PlantStoreError;

/** The class of each reason. */
export const CLASSES: Readonly<Record<string, Class>> = {
  MALFORMED_REQUEST: InvalidRequestError,
  INVALID_FIELD: InvalidRequestError,
  INVALID_CURSOR: InvalidRequestError,
  IDEMPOTENCY_KEY_MALFORMED: InvalidRequestError,
  ROUTE_NOT_FOUND: InvalidRequestError,
  METHOD_NOT_ALLOWED: InvalidRequestError,
  BODY_TOO_LARGE: InvalidRequestError,
  UNSUPPORTED_MEDIA_TYPE: InvalidRequestError,
  HEADERS_TOO_LARGE: InvalidRequestError,
  PLANT_ALREADY_EXISTS: PlantAlreadyExistsError,
  PLANT_NOT_FOUND: PlantNotFoundError,
  IDEMPOTENCY_KEY_REUSED: IdempotencyKeyReusedError,
  OWNER_BEING_ERASED: OwnerBeingErasedError,
  AUTHORIZATION_MALFORMED: UnauthenticatedError,
  TOKEN_MISSING: UnauthenticatedError,
  TOKEN_INVALID: UnauthenticatedError,
  INSUFFICIENT_SCOPE: PermissionDeniedError,
  RATE_LIMITED: TooManyRequestsError,
  TOO_MANY_LISTS: TooManyRequestsError,
  TOO_MANY_WATCHES: TooManyRequestsError,
  TOO_MANY_REQUESTS: TooManyRequestsError,
  REQUEST_TIMEOUT: UnavailableError,
  OVERLOADED: UnavailableError,
  WATCH_TOO_SLOW: UnavailableError,
  STORE_UNAVAILABLE: UnavailableError,
  ISSUER_UNAVAILABLE: UnavailableError,
  // Becomes an OutcomeUnknownError when all attempts are used up.
  OUTCOME_UNKNOWN: PlantStoreError,
  INTERNAL: InternalError,
};

/** The error of a failure. An unknown reason, of a newer service or of a proxy, is a PlantStoreError. */
export const errorOf = (failure: Failure): PlantStoreError => new (CLASSES[failure.reason] ?? PlantStoreError)(failure);

/** The error of an answer that is no success. Reads its body. */
export async function errorOfAnswer(answer: Response): Promise<PlantStoreError> {
  const text = await answer.text().catch(() => '');
  return errorOf({
    reason: answer.headers.get('plantstore-reason') ?? '',
    status: answer.status,
    message: messageOf(text) ?? `HTTP ${answer.status}`,
    requestId: answer.headers.get('x-request-id') ?? undefined,
    retryAfter: millisecondsOf(answer.headers.get('retry-after')),
  });
}

/** The message of an Error body. */
export function messageOf(text: string): string | undefined {
  try {
    const { message } = parseJson(text) as { readonly message?: unknown };
    return typeof message === 'string' ? message : undefined;
  } catch {
    return undefined;
  }
}

/** Milliseconds of a Retry-After: seconds or a date (RFC 9110, section 10.2.3). */
function millisecondsOf(retryAfter: string | null): number | undefined {
  if (retryAfter === null) return undefined;
  const milliseconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - Date.now();
  return Number.isNaN(milliseconds) ? undefined : Math.max(0, milliseconds);
}
