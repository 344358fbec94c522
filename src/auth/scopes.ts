import type { Decision } from './authenticator.ts';
import type { Principal } from './principal.ts';
import { Refusal } from './refusal.ts';

/** What a token can be good for. */
export const SCOPES = ['plants:read', 'plants:write', 'plants:audit', 'plants:erase'] as const;

/** One of them. */
export type Scope = (typeof SCOPES)[number];

/** Which scopes callers need. */
export interface ScopePolicy {
  /**
   * Throws INSUFFICIENT_SCOPE, with the challenge of RFC 6750 section 3.1, when the scope is enforced and the caller's token
   * does not have it.
   */
  require(principal: Principal, scope: Scope): void;
}

/** The policy that enforces these scopes, and always `plants:audit` and `plants:erase`, since they concern every owner. */
export function createScopePolicy(enforced: Iterable<string>, onDecision?: (decision: Decision) => void): ScopePolicy {
  const needed = new Set(['plants:audit', 'plants:erase', ...enforced]);
  return {
    require({ scopes, issuer, actor }, scope) {
      if (!needed.has(scope) || scopes.has(scope)) return;
      const about = { issuer, subject: actor };
      onDecision?.({ outcome: 'refused', reason: 'insufficient_scope', ...about });
      throw new Refusal('insufficient_scope', about, { scope });
    },
  };
}
