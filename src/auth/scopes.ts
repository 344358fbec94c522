import type { OnDecision } from './authenticator.ts';
import type { Principal, Scope } from './principal.ts';
import { Refusal } from './refusal.ts';

/** The scopes that callers need. */
export type ScopePolicy = ReturnType<typeof createScopePolicy>;

/** Enforces the given scopes, and always those that concern every owner: `plants:audit` and `plants:erase`. */
export function createScopePolicy(enforced: Iterable<string>, onDecision?: OnDecision) {
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
