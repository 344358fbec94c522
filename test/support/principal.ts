import type { Principal } from '../../src/auth/principal.ts';
import type { Validity } from '../../src/auth/validity.ts';

/** The validity of a token that never expires. */
export const LASTING: Validity = { until: Number.POSITIVE_INFINITY, holds: true, confirm: async () => {} };

/** A caller without scopes whose token never expires. */
export const ALICE: Principal = {
  issuer: 'test',
  actor: 'alice',
  owner: 'alice',
  scopes: new Set(),
  validity: LASTING,
};
