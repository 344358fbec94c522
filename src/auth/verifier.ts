import {
  errors,
  type FlattenedJWSInput,
  type JWTHeaderParameters,
  type JWTPayload,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose';
import { PlantStoreError } from '../domain/errors.ts';
import type { Permit } from '../semaphore.ts';
import type { KeySet } from './keys/jwks.ts';
import { subjectOf } from './principal.ts';
import { Refusal, refusalFor, type Why } from './refusal.ts';
import { TokenValidity } from './validity.ts';

/** Most seconds by which the clocks of issuer and service may differ. */
export const CLOCK_TOLERANCE = 30;

// RFC 8725, section 3.1. EdDSA and Ed25519 (RFC 9864) name the same algorithm here.
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'];

// RFC 8725, section 3.11: a token of another type (dpop+jwt, logout+jwt, secevent+jwt) was not issued for access. An ID
// token has no type of its own; its audience distinguishes it. A logout or security event token without its type has a
// claim `events` (RFC 8417, section 2.2).
const TYPES = new Set(['jwt', 'at+jwt']);

/** The last second of the year 9999. A later time is a mistake, or is to make a token that never expires. */
const MAX_NUMERIC_DATE = 253_402_300_799;

const COMPACT_JWS = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * A function that verifies a token (RFC 7519, RFC 8725): its signature, issuer, audience and times. It rejects with
 * Refusal, or as `permit` does. It ignores key material in the token's header. It takes a permit once it has the key: a
 * token that waits for the issuer's keys holds none, and so holds up nobody whose key is known.
 */
export function createVerifier(keys: KeySet, issuer: string, audience: string, permit: () => Permit | Promise<Permit>) {
  const options: JWTVerifyOptions = {
    algorithms: ALGORITHMS,
    issuer,
    audience,
    clockTolerance: CLOCK_TOLERANCE,
    requiredClaims: ['exp'],
  };
  return async (token: string) => {
    const { revision } = keys;
    using held = new DisposableStack();
    const find = async (header: JWTHeaderParameters, input: FlattenedJWSInput) => {
      const key = await keys.find(header, input);
      held.use(await permit());
      return key;
    };
    const {
      payload,
      protectedHeader: header,
      key,
    } = await jwtVerify(token, find, options).catch((thrown) => {
      throw failureOf(thrown);
    });
    const why = wrongTime(payload);
    if (why !== undefined) throw new Refusal(why, subjectOf(payload));
    // The service supports no critical extension, not even the one that jose supports (RFC 7515, section 4.1.11).
    if (header.crit !== undefined) throw new Refusal('critical_header', subjectOf(payload));
    if (!isAccessToken(header.typ) || payload.events !== undefined) throw new Refusal('type', subjectOf(payload));
    // The service cannot check the proof of possession that such a token requires (RFC 9449, section 7.2; RFC 8705,
    // section 3).
    if (payload.cnf !== undefined) throw new Refusal('sender_constrained', subjectOf(payload));
    const until = Math.ceil(payload.exp! + CLOCK_TOLERANCE) * 1000;
    return { claims: payload, validity: new TokenValidity(keys, { until, revision, header, key }) };
  };
}

/** Checks the times that jose does not: it accepts any number, and ignores `iat`. */
function wrongTime({ exp, nbf, iat }: JWTPayload): Why | undefined {
  if (![exp, nbf, iat].every(isSensible)) return 'time';
  return iat !== undefined && iat > Date.now() / 1000 + CLOCK_TOLERANCE ? 'issued_in_future' : undefined;
}

/** Whether a time is a plausible NumericDate (RFC 7519, section 2). */
const isSensible = (time: number | undefined): boolean => time === undefined || (time >= 0 && time <= MAX_NUMERIC_DATE);

const isAccessToken = (typ: unknown): boolean =>
  typ === undefined || (typeof typ === 'string' && TYPES.has(typ.toLowerCase().replace(/^application\//, '')));

const BY_CODE: Readonly<Record<string, Why>> = {
  [errors.JOSEAlgNotAllowed.code]: 'algorithm',
  [errors.JOSENotSupported.code]: 'critical_header',
  // jose reads the claims only once the signature is verified.
  [errors.JWTInvalid.code]: 'claims',
  [errors.JWKSNoMatchingKey.code]: 'unknown_key',
  [errors.JWKSMultipleMatchingKeys.code]: 'ambiguous_key',
  [errors.JWKSInvalid.code]: 'unusable_key',
  [errors.JWSSignatureVerificationFailed.code]: 'signature',
};

const BY_CLAIM: Readonly<Record<string, Why>> = {
  exp: 'no_expiry',
  nbf: 'not_yet_valid',
  iat: 'time',
  iss: 'issuer',
  aud: 'audience',
};

const reasonOf = ({ claim, reason }: errors.JWTClaimValidationFailed): Why =>
  claim === 'nbf' && reason === 'invalid' ? 'time' : (BY_CLAIM[claim] ?? 'claims');

function failureOf(thrown: unknown): PlantStoreError {
  if (thrown instanceof PlantStoreError) return thrown;
  // jose checks claims last, so in these two cases the issuer did sign the token.
  if (thrown instanceof errors.JWTExpired) return new Refusal('expired', subjectOf(thrown.payload));
  if (thrown instanceof errors.JWTClaimValidationFailed)
    return new Refusal(reasonOf(thrown), subjectOf(thrown.payload));
  if (thrown instanceof errors.JOSEError) return new Refusal(BY_CODE[thrown.code] ?? 'malformed');
  // Other errors come from the key: an RSA key under 2,048 bits, or a damaged key.
  return new Refusal('unusable_key');
}

/** Most characters of a token. All are ASCII, so this is also its size in bytes. */
export const MAX_TOKEN_LENGTH = 8 * 1024;

const SCHEME = /^bearer(?: +|$)/i;
const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/**
 * The token of the Authorization header (RFC 6750, section 2.1). Does not check its form, because a cached token needs
 * no check; see checkForm. Throws Refusal, also for several headers, joined by commas or not.
 */
export function bearerToken(authorization: string | readonly string[] | undefined): string {
  const header = typeof authorization === 'string' ? authorization : (authorization?.join(', ') ?? '');
  // Several headers are joined like this. A proxy may have checked any of them. So are the parameters of other schemes.
  if (header.includes(', ') && header.split(', ').some((part) => SCHEME.test(part)))
    throw refusalFor('malformed_header');
  const scheme = SCHEME.exec(header);
  if (scheme === null || scheme[0].length === header.length) throw refusalFor('no_token');
  const token = header.slice(scheme[0].length);
  if (token.length > MAX_TOKEN_LENGTH) throw refusalFor('token_too_long');
  return token;
}

/** Throws Refusal unless the token is a b64token (RFC 6750), which two joined by a comma are not, and a compact JWS. */
export function checkForm(token: string): void {
  if (!B64TOKEN.test(token)) throw refusalFor('malformed_header');
  if (!COMPACT_JWS.test(token)) throw refusalFor('malformed');
}
