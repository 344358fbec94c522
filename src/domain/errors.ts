/** What callers get of a kind of failure. */
interface Kind {
  /** google.rpc.Code number. */
  readonly code: number;
  /** HTTP status. */
  readonly status: number;
  /** Seconds after which a retry may succeed, unless an error says otherwise. */
  readonly retryAfter?: number;
}

/** Every way in which a call can fail, by its stable reason. All transports use this table. */
export const ERRORS = {
  MALFORMED_REQUEST: { code: 3, status: 400 },
  INVALID_FIELD: { code: 3, status: 400 },
  INVALID_CURSOR: { code: 3, status: 400 },
  // Not 409: the REST contract of the service defines this status for it (docs/calling.md).
  PLANT_ALREADY_EXISTS: { code: 6, status: 400 },
  IDEMPOTENCY_KEY_MALFORMED: { code: 3, status: 400 },
  AUTHORIZATION_MALFORMED: { code: 16, status: 400 },
  TOKEN_MISSING: { code: 16, status: 401 },
  TOKEN_INVALID: { code: 16, status: 401 },
  INSUFFICIENT_SCOPE: { code: 7, status: 403 },
  PLANT_NOT_FOUND: { code: 5, status: 404 },
  EVENT_NOT_FOUND: { code: 5, status: 404 },
  ROUTE_NOT_FOUND: { code: 5, status: 404 },
  METHOD_NOT_ALLOWED: { code: 12, status: 405 },
  REQUEST_TIMEOUT: { code: 4, status: 408 },
  BODY_TOO_LARGE: { code: 8, status: 413 },
  UNSUPPORTED_MEDIA_TYPE: { code: 3, status: 415 },
  OWNER_BEING_ERASED: { code: 9, status: 400, retryAfter: 10 },
  COUNT_OUTDATED: { code: 10, status: 409, retryAfter: 1 },
  MAY_NOT_ERASE: { code: 9, status: 400 },
  // Whether a key is free depends on earlier requests: FAILED_PRECONDITION, not INVALID_ARGUMENT.
  IDEMPOTENCY_KEY_REUSED: { code: 9, status: 422 },
  RATE_LIMITED: { code: 8, status: 429, retryAfter: 1 },
  TOO_MANY_LISTS: { code: 8, status: 429, retryAfter: 1 },
  TOO_MANY_WATCHES: { code: 8, status: 429, retryAfter: 1 },
  TOO_MANY_REQUESTS: { code: 8, status: 429, retryAfter: 1 },
  CANCELLED: { code: 1, status: 499 },
  INTERNAL: { code: 13, status: 500 },
  OVERLOADED: { code: 14, status: 503, retryAfter: 1 },
  SHUTTING_DOWN: { code: 14, status: 503, retryAfter: 1 },
  WATCH_TOO_SLOW: { code: 14, status: 503, retryAfter: 1 },
  STORE_UNAVAILABLE: { code: 14, status: 503, retryAfter: 1 },
  OUTCOME_UNKNOWN: { code: 14, status: 503, retryAfter: 1 },
  ISSUER_UNAVAILABLE: { code: 14, status: 503, retryAfter: 1 },
} as const satisfies Record<string, Kind>;

/** Name of one kind of failure. */
export type Reason = keyof typeof ERRORS;

/** What an error tells a caller in addition to its message. */
export interface ErrorDetails {
  /** Seconds after which a retry may succeed. */
  readonly retryAfter?: number;
  /** Proto path of the invalid field, such as `plant.name`. */
  readonly field?: string;
  /** Value for WWW-Authenticate (RFC 6750, section 3). */
  readonly challenge?: string;
}

/** The only error type that callers see. Its message says what to do and reveals nothing internal. */
export class PlantStoreError extends Error {
  readonly reason: Reason;
  readonly details: ErrorDetails;

  constructor(reason: Reason, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    // Callers never see the stack, and capturing it costs more than a short answer. The cause keeps its own.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'PlantStoreError';
    this.reason = reason;
    const { retryAfter }: Kind = ERRORS[reason];
    this.details = retryAfter === undefined ? details : { retryAfter, ...details };
  }

  get code(): number {
    return ERRORS[this.reason].code;
  }

  get status(): number {
    return ERRORS[this.reason].status;
  }
}

/** The error of a field with an invalid value. Its message is the field's path and what is wrong with it. */
export class InvalidFieldError extends PlantStoreError {
  /** Proto path of the field. */
  readonly field: string;
  readonly #problem: string;

  /** `problem` continues a sentence that begins with the field, such as `is missing`. */
  constructor(field: string, problem: string) {
    super('INVALID_FIELD', `${field} ${problem}`, { field });
    this.field = field;
    this.#problem = problem;
  }

  /** The same error for callers who know the field under another path. */
  named(field: string): InvalidFieldError {
    return new InvalidFieldError(field, this.#problem);
  }
}

/** The error that the caller gets for a thrown value. Another type becomes INTERNAL, with the original as its cause. */
export const toPlantStoreError = (thrown: unknown): PlantStoreError =>
  thrown instanceof PlantStoreError
    ? thrown
    : new PlantStoreError(
        'INTERNAL',
        'internal error; the log of the service has the cause under this request id',
        {},
        { cause: thrown },
      );
