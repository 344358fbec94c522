import { parseJson } from './json.ts';

/** What the service says about a failed request. */
export interface Failure {
  /**
   * Stable, for programs (header Plantstore-Reason). Empty if the answer comes from a proxy and not from the service.
   */
  readonly reason: string;
  /** HTTP status. */
  readonly status: number;
  readonly message: string;
  /** The id under which the service logged the request. */
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

/** The owner has a plant with this id. */
export class PlantAlreadyExistsError extends PlantStoreError {
  override readonly name = 'PlantAlreadyExistsError';
}

/** The owner has no plant with this id. */
export class PlantNotFoundError extends PlantStoreError {
  override readonly name = 'PlantNotFoundError';
}

/** Another request has used the idempotency key. */
export class IdempotencyKeyReusedError extends PlantStoreError {
  override readonly name = 'IdempotencyKeyReusedError';
}

/** The token is missing, invalid or expired. */
export class UnauthenticatedError extends PlantStoreError {
  override readonly name = 'UnauthenticatedError';
}

/** The token lacks a scope. */
export class PermissionDeniedError extends PlantStoreError {
  override readonly name = 'PermissionDeniedError';
}

/** The caller exceeds a limit. */
export class TooManyRequestsError extends PlantStoreError {
  override readonly name = 'TooManyRequestsError';
}

/** The service cannot serve the request at the moment, and has not done it. */
export class UnavailableError extends PlantStoreError {
  override readonly name = 'UnavailableError';
}

/** A fault of the service at every attempt. Its log has the request id of the last one. */
export class InternalError extends PlantStoreError {
  override readonly name = 'InternalError';
}

/** No answer arrived, or only a part of one; `cause` says why. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

/** A write may have been done. To learn the outcome, retry with this idempotency key. `cause` is the last error. */
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
  PLANT_ALREADY_EXISTS: PlantAlreadyExistsError,
  PLANT_NOT_FOUND: PlantNotFoundError,
  IDEMPOTENCY_KEY_REUSED: IdempotencyKeyReusedError,
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
  SHUTTING_DOWN: UnavailableError,
  WATCH_TOO_SLOW: UnavailableError,
  STORE_UNAVAILABLE: UnavailableError,
  ISSUER_UNAVAILABLE: UnavailableError,
  // Becomes an OutcomeUnknownError when all attempts are used up.
  OUTCOME_UNKNOWN: PlantStoreError,
  INTERNAL: InternalError,
};

/** The error for a failure. An unknown reason, from a newer service or a proxy, becomes a PlantStoreError. */
export const errorOf = (failure: Failure): PlantStoreError => new (CLASSES[failure.reason] ?? PlantStoreError)(failure);

/** The error for an unsuccessful answer. Reads its body. */
export async function errorOfAnswer(answer: Response): Promise<PlantStoreError> {
  const text = await answer.text().catch(() => '');
  return errorOf({
    reason: answer.headers.get('plantstore-reason') ?? '',
    status: answer.status,
    message: messageOf(text) ?? (isRedirect(answer) ? REDIRECTED : `HTTP ${answer.status}`),
    requestId: answer.headers.get('x-request-id') ?? undefined,
    retryAfter: millisecondsOf(answer.headers.get('retry-after')),
  });
}

const REDIRECTED = 'the answer is a redirect; set url to where it leads';

/** Whether an answer leads elsewhere. A browser withholds its status. */
const isRedirect = ({ type, status }: Response): boolean =>
  type === 'opaqueredirect' || (status >= 300 && status < 400);

/** The message of an Error body. */
export function messageOf(text: string): string | undefined {
  try {
    const { message } = parseJson(text) as { readonly message?: unknown };
    return typeof message === 'string' ? message : undefined;
  } catch {
    return undefined;
  }
}

/** Retry-After, seconds or a date, in milliseconds from now (RFC 9110, section 10.2.3). */
function millisecondsOf(retryAfter: string | null): number | undefined {
  if (retryAfter === null) return undefined;
  const milliseconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - Date.now();
  return Number.isNaN(milliseconds) ? undefined : Math.max(0, milliseconds);
}
