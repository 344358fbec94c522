import type { JWTPayload } from 'jose';
import { Refusal, type Why } from './refusal.ts';
import type { Validity } from './validity.ts';

/** The scopes that a token can have. */
export const SCOPES = ['plants:read', 'plants:write', 'plants:audit', 'plants:erase'] as const;

/** A scope that the service knows. Tokens may have others, which count for nothing. */
export type Scope = (typeof SCOPES)[number];

/** The caller, according to the verified token. */
export interface Principal {
  /** Issuer of the token (`iss`). */
  readonly issuer: string;
  /** Who acts: `sub`, or the owner if the token has no `sub`. */
  readonly actor: string;
  /** The owner of the plants: the owner claim. Never empty. */
  readonly owner: string;
  /** Those of SCOPES that the token has: claim `scope` (RFC 8693, space-separated) or `scp` (array). */
  readonly scopes: ReadonlySet<string>;
  /** Validity of the token. Streams check it repeatedly. */
  readonly validity: Validity;
}

/** Most code points in the name of an owner or actor. Every event contains both names. */
export const MAX_NAME_CODE_POINTS = 1024;

/** What a value must be to be a name, in words. */
export const NAME_RULE = `must not be blank or longer than ${MAX_NAME_CODE_POINTS} characters, or contain control characters`;

/** The caller that verified claims describe. Throws Refusal if the owner is missing or a name is invalid. */
export function principalFrom(claims: JWTPayload, issuer: string, ownerClaim: string, validity: Validity): Principal {
  const owner = claims[ownerClaim];
  if (!isName(owner)) throw new Refusal('owner', subjectOf(claims));
  const actor = typeof claims.sub === 'string' && claims.sub !== '' ? claims.sub : owner;
  if (!isName(actor)) throw new Refusal('subject', subjectOf(claims));
  const words = new Set([...wordsOf(claims.scope), ...wordsOf(claims.scp)]);
  // A token is remembered for long, and may have thousands of other words.
  return { issuer, actor, owner, scopes: new Set(SCOPES.filter((scope) => words.has(scope))), validity };
}

/** The subject of claims, if it is text. */
export const subjectOf = ({ sub }: JWTPayload): string | undefined => (typeof sub === 'string' ? sub : undefined);

/** Unicode's general category Cc: C0, DEL and C1. */
const CONTROL = /\p{Cc}/u;

/**
 * Whether a value can name an owner or actor: well-formed Unicode of bounded length, not blank, without control
 * characters. Names are stored permanently, and appear in terminals and logs.
 */
export const isName = (value: unknown): value is string =>
  typeof value === 'string' && value.trim() !== '' && value.isWellFormed() && !CONTROL.test(value) && isShort(value);

// A code point takes at most two UTF-16 code units, so a longer value need not be counted.
const isShort = (value: string): boolean =>
  value.length <= 2 * MAX_NAME_CODE_POINTS && [...value].length <= MAX_NAME_CODE_POINTS;

// Most issuers use a text for `scope` and a list for `scp`; some swap them. Any other type grants nothing.
function wordsOf(claim: unknown): readonly string[] {
  if (typeof claim === 'string') return claim.split(' ').filter(Boolean);
  return Array.isArray(claim) ? claim.filter((word) => typeof word === 'string') : [];
}

/** The scopes that callers need. */
export type ScopePolicy = ReturnType<typeof createScopePolicy>;

/** Enforces the given scopes, and always those that concern every owner: `plants:audit` and `plants:erase`. */
export function createScopePolicy(enforced: Iterable<string>, onDecision?: (refused: Why) => void) {
  const needed = new Set(['plants:audit', 'plants:erase', ...enforced]);
  return {
    /** Throws INSUFFICIENT_SCOPE if the scope is enforced and the token lacks it (RFC 6750, section 3.1). */
    require({ scopes, actor }: Principal, scope: Scope): void {
      if (!needed.has(scope) || scopes.has(scope)) return;
      onDecision?.('insufficient_scope');
      throw new Refusal('insufficient_scope', actor, { scope });
    },
  };
}
