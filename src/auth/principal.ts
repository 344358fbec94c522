import type { Validity } from './validity.ts';

/** Who calls, as the verified token says. */
export interface Principal {
  /** Issuer of the token (`iss`). */
  readonly issuer: string;
  /** Who acts (`sub`, or the owner where a token has no `sub`). */
  readonly actor: string;
  /** Whose plants the caller sees: the owner claim. Never empty. */
  readonly owner: string;
  /** Scopes of the token: claim `scope` (RFC 8693, space-separated) or `scp` (array). */
  readonly scopes: ReadonlySet<string>;
  /** Until when the token counts: what outlasts one answer asks it. */
  readonly validity: Validity;
}
