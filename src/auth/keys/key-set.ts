import type { CryptoKey, FlattenedJWSInput, JWSHeaderParameters } from 'jose';

/** Whether tokens can be judged, and a line for the operator that says why, or why not. */
export interface KeysReadiness {
  readonly ready: boolean;
  readonly detail: string;
}

/** The public keys of whoever may issue tokens. */
export interface KeySet {
  /**
   * Goes up when a key has left the set: what was verified before counts no longer. Undefined while no key may be used.
   * Cheap enough to be asked for each call.
   */
  readonly revision: number | undefined;

  /**
   * The key that a token's header asks for. Rejects with a JOSEError when there is no such key, and with the Refusal
   * `issuer_unavailable` when that cannot be known.
   */
  find(header: JWSHeaderParameters, token?: FlattenedJWSInput): Promise<CryptoKey>;

  /** Whether there are keys to judge tokens by. */
  ready(): KeysReadiness;

  /** Ends all work in the background. */
  close(): void;
}
