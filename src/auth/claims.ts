import type { JWTPayload } from 'jose';
import type { Principal } from './principal.ts';
import { Refusal, type Subject } from './refusal.ts';
import type { Validity } from './validity.ts';

/** Most code points of an owner's or an actor's name: both go into every event. */
export const MAX_NAME_CODE_POINTS = 1024;

/**
 * The caller that verified claims describe. `sub` is who acts; a token without a usable one acts as the owner.
 * Throws Refusal for a token without an owner, or with a name that cannot be stored.
 */
export function principalFrom(claims: JWTPayload, issuer: string, ownerClaim: string, validity: Validity): Principal {
  const owner = claims[ownerClaim];
  if (!isName(owner)) throw new Refusal('owner', aboutOf(claims));
  const actor = typeof claims.sub === 'string' && claims.sub !== '' ? claims.sub : owner;
  if (!isName(actor)) throw new Refusal('subject', aboutOf(claims));
  return { issuer, actor, owner, scopes: new Set([...words(claims.scope), ...words(claims.scp)]), validity };
}

/** Whom claims are about, as far as they say so in text. */
export const aboutOf = ({ iss, sub }: JWTPayload): Subject => ({
  ...(typeof iss === 'string' && { issuer: iss }),
  ...(typeof sub === 'string' && { subject: sub }),
});

/** Unicode's general category Cc: C0, DEL and C1. */
const CONTROL = /\p{Cc}/u;

/**
 * Whether a value can name an owner or an actor: text that is not blank, well-formed Unicode without control characters, of
 * bounded length. Names are kept for good, and are shown in terminals and logs.
 */
export const isName = (value: unknown): value is string =>
  typeof value === 'string' && value.trim() !== '' && value.isWellFormed() && !CONTROL.test(value) && isShort(value);

// At most two UTF-16 code units a code point: what is longer need not be counted.
const isShort = (value: string): boolean =>
  value.length <= 2 * MAX_NAME_CODE_POINTS && [...value].length <= MAX_NAME_CODE_POINTS;

// `scope` is text and `scp` a list by most issuers' habit; some swap them. What is neither grants nothing.
function words(claim: unknown): readonly string[] {
  if (typeof claim === 'string') return claim.split(' ').filter(Boolean);
  return Array.isArray(claim) ? claim.filter((word) => typeof word === 'string') : [];
}
