import type { CryptoKey, FlattenedJWSInput, JWSHeaderParameters } from 'jose';

/** Whether tokens can be verified, and a line for the operator. */
export interface KeysReadiness {
  readonly ready: boolean;
  readonly detail: string;
}

/** The public keys of the token issuer. */
export interface KeySet {
  /**
   * Increases when a key leaves the set, which invalidates earlier verifications. Undefined while no key is usable.
   * Cheap enough to read in each call.
   */
  readonly revision: number | undefined;

  /**
   * The key that a token's header names. Rejects with a JOSEError if the key does not exist, and with the Refusal
   * `issuer_unavailable` if that is unknown.
   */
  find(header: JWSHeaderParameters, token?: FlattenedJWSInput): Promise<CryptoKey>;

  /** Whether there are keys to verify tokens with. */
  ready(): KeysReadiness;

  /** Ends all background work. */
  close(): void;
}
