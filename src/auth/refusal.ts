import { type ErrorDetails, PlantStoreError, type Reason } from '../domain/errors.ts';

// Before its signature is verified, nothing in a token is known to be true. One message for all of these reasons gives
// a prober no information.
const NOT_VALID = 'the token is not signed by an issuer that this service trusts; get a token for this service';

/**
 * The causes of a refusal, for logs and metrics, each with the reason and message for the caller. A message is also a
 * quoted error_description, so it must have no quotes or backslashes (RFC 6750, section 3).
 */
const REFUSALS = {
  no_token: ['TOKEN_MISSING', 'this call needs a token; send it as Authorization: Bearer TOKEN'],
  malformed_header: [
    'AUTHORIZATION_MALFORMED',
    'send one Authorization header: Bearer, a space, and the token as it was issued',
  ],
  token_too_long: ['TOKEN_INVALID', 'the token is longer than 8 KiB'],
  malformed: ['TOKEN_INVALID', NOT_VALID],
  algorithm: ['TOKEN_INVALID', NOT_VALID],
  critical_header: ['TOKEN_INVALID', NOT_VALID],
  unknown_key: ['TOKEN_INVALID', NOT_VALID],
  ambiguous_key: ['TOKEN_INVALID', 'several keys of the issuer fit the token; its header kid must name one key alone'],
  unusable_key: ['TOKEN_INVALID', NOT_VALID],
  signature: ['TOKEN_INVALID', NOT_VALID],
  claims: ['TOKEN_INVALID', 'the claims of the token cannot be read; its payload must be a JSON object'],
  expired: ['TOKEN_INVALID', 'the token has expired; get a new one'],
  not_yet_valid: ['TOKEN_INVALID', 'the token is not valid yet; its claim nbf must not be in the future'],
  no_expiry: ['TOKEN_INVALID', 'the token has no valid expiry; its claim exp must be a number'],
  time: [
    'TOKEN_INVALID',
    'the token has invalid times; its claims exp, nbf and iat must be seconds since 1970, before the year 10000',
  ],
  issued_in_future: ['TOKEN_INVALID', 'the token was issued in the future; its claim iat must not be in the future'],
  issuer: ['TOKEN_INVALID', 'the claim iss of the token names an issuer that this service does not trust'],
  audience: ['TOKEN_INVALID', 'the token is not for this service; its claim aud does not name it'],
  type: ['TOKEN_INVALID', 'the token is not an access token, according to its header typ or its claim events'],
  sender_constrained: ['TOKEN_INVALID', 'the token is bound to a key by its claim cnf, so it is not a bearer token'],
  owner: [
    'TOKEN_INVALID',
    'the token names no owner; the owner claim must be 1 to 1024 characters, not blank, without control characters',
  ],
  subject: [
    'TOKEN_INVALID',
    'the claim sub of the token must be at most 1024 characters, not blank, without control characters',
  ],
  insufficient_scope: ['INSUFFICIENT_SCOPE', 'the token lacks the scope that this call needs'],
  issuer_unavailable: [
    'ISSUER_UNAVAILABLE',
    'tokens cannot be verified now, because the keys of the issuer are unavailable; try again',
  ],
} as const satisfies Record<string, readonly [Reason, string]>;

/** The cause of a refusal: a bounded set of names, suitable for the label of a metric. */
export type Why = keyof typeof REFUSALS;

/** The refusal of a call. It contains no usable part of a token. */
export class Refusal extends PlantStoreError {
  readonly why: Why;
  /** The claim `sub` of the token. Known only once its signature is verified. */
  readonly subject: string | undefined;

  constructor(why: Why, subject?: string, details: { retryAfter?: number; scope?: string } = {}) {
    const [reason, text] = REFUSALS[why];
    const { scope, ...rest } = details;
    const message = scope === undefined ? text : `${text}: ${scope}`;
    super(reason, message, { ...rest, ...challenge(reason, message, scope) });
    this.name = 'Refusal';
    this.why = why;
    this.subject = subject;
  }
}

const known = new Map<Why, Refusal>();

/** A refusal that says nothing of its token. One for all calls: whoever sends nonsense is not to be served more CPU. */
export function refusalFor(why: Why): Refusal {
  let refusal = known.get(why);
  if (refusal === undefined) {
    refusal = new Refusal(why);
    known.set(why, refusal);
  }
  return refusal;
}

const REALM = 'Bearer realm="plantstore"';

/** The challenge (RFC 6750, section 3): no error code for a missing token; the required scope if the token lacks it. */
function challenge(reason: Reason, message: string, scope: string | undefined): ErrorDetails {
  switch (reason) {
    case 'TOKEN_MISSING':
      return { challenge: REALM };
    case 'AUTHORIZATION_MALFORMED':
      return { challenge: `${REALM}, error="invalid_request", error_description="${message}"` };
    case 'TOKEN_INVALID':
      return { challenge: `${REALM}, error="invalid_token", error_description="${message}"` };
    case 'INSUFFICIENT_SCOPE':
      return { challenge: `${REALM}, error="insufficient_scope", scope="${scope}"` };
    default:
      return {};
  }
}
