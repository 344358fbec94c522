import type { Principal } from '../../src/auth/principal.ts';
import type { Validity } from '../../src/auth/validity.ts';

/** Of a token that never ends. */
export const LASTING: Validity = { until: Number.POSITIVE_INFINITY, holds: true, confirm: async () => {} };

/** A caller without scopes whose token never ends. */
export const ALICE: Principal = {
  issuer: 'test',
  actor: 'alice',
  owner: 'alice',
  scopes: new Set(),
  validity: LASTING,
};
