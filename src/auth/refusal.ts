import { type ErrorDetails, PlantStoreError, type Reason } from '../domain/errors.ts';

// Until the signature holds nothing in a token is known to be true, and whoever sent it may be probing: one message for all of it.
const NOT_VALID = 'the token is not one that an issuer trusted here has signed; get a token for this service';

/**
 * Why a call is refused: for logs and metrics in full, for the caller as an error and a message. Messages go into a quoted
 * error_description too, so they hold neither quotes nor backslashes (RFC 6750, section 3).
 */
const REFUSALS = {
  no_token: ['TOKEN_MISSING', 'this needs a token: send it as Authorization: Bearer TOKEN'],
  malformed_header: [
    'AUTHORIZATION_MALFORMED',
    'send one Authorization header: Bearer, a space, and the token as it was issued',
  ],
  token_too_long: ['TOKEN_INVALID', 'the token is longer than 8 KiB'],
  malformed: ['TOKEN_INVALID', NOT_VALID],
  algorithm: ['TOKEN_INVALID', NOT_VALID],
  critical_header: ['TOKEN_INVALID', NOT_VALID],
  unknown_key: ['TOKEN_INVALID', NOT_VALID],
  ambiguous_key: ['TOKEN_INVALID', NOT_VALID],
  unusable_key: ['TOKEN_INVALID', NOT_VALID],
  signature: ['TOKEN_INVALID', NOT_VALID],
  expired: ['TOKEN_INVALID', 'the token has expired; get a new one'],
  not_yet_valid: ['TOKEN_INVALID', 'the token is not valid yet; its claim nbf has to be a time that has come'],
  no_expiry: ['TOKEN_INVALID', 'the token never expires; its claim exp has to be a number'],
  time: [
    'TOKEN_INVALID',
    'the token holds no sensible times; its claims exp, nbf and iat have to be seconds since 1970, before the year 10000',
  ],
  issued_in_future: [
    'TOKEN_INVALID',
    'the token was issued in the future; its claim iat has to be a time that has come',
  ],
  issuer: ['TOKEN_INVALID', 'the claim iss of the token names an issuer that is not trusted here'],
  audience: ['TOKEN_INVALID', 'the token is for another service; its claim aud does not name this one'],
  type: ['TOKEN_INVALID', 'the token is not an access token; its header typ says so'],
  sender_constrained: ['TOKEN_INVALID', 'the token is bound to a key by its claim cnf, and is no bearer token'],
  owner: [
    'TOKEN_INVALID',
    'the token names no owner: the owner claim has to be a text of 1 to 1024 characters, not blank, without control characters',
  ],
  subject: [
    'TOKEN_INVALID',
    'the claim sub of the token has to be a text of at most 1024 characters, not blank, without control characters',
  ],
  insufficient_scope: ['INSUFFICIENT_SCOPE', 'the token lacks the scope that this needs'],
  issuer_unavailable: [
    'ISSUER_UNAVAILABLE',
    'tokens cannot be checked now, because the keys of their issuer cannot be had; try again',
  ],
} as const satisfies Record<string, readonly [Reason, string]>;

/** Why a call is refused: a bounded set of names, fit for a metric's label. */
export type Why = keyof typeof REFUSALS;

/** Who a token is about. Known only for a token whose signature holds. */
export interface Subject {
  readonly issuer?: string;
  readonly subject?: string;
}

/** A call that is not let in. It holds no token and nothing of one that could be used. */
export class Refusal extends PlantStoreError {
  readonly why: Why;
  readonly about: Subject;

  constructor(why: Why, about: Subject = {}, details: { retryAfter?: number; scope?: string } = {}) {
    const [reason, text] = REFUSALS[why];
    const { scope, ...rest } = details;
    const message = scope === undefined ? text : `${text}: ${scope}`;
    super(reason, message, { ...rest, ...challenge(reason, message, scope) });
    this.name = 'Refusal';
    this.why = why;
    this.about = about;
  }
}

const REALM = 'Bearer realm="plantstore"';

/** RFC 6750, section 3: no error code where no token came; the scope that is needed where the token lacks it. */
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
