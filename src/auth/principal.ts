import type { Validity } from './validity.ts';

/** The caller, according to the verified token. */
export interface Principal {
  /** Issuer of the token (`iss`). */
  readonly issuer: string;
  /** Who acts: `sub`, or the owner if the token has no `sub`. */
  readonly actor: string;
  /** The owner of the plants: the owner claim. Never empty. */
  readonly owner: string;
  /** Scopes of the token: claim `scope` (RFC 8693, space-separated) or `scp` (array). */
  readonly scopes: ReadonlySet<string>;
  /** Validity of the token. Streams check it repeatedly. */
  readonly validity: Validity;
}
