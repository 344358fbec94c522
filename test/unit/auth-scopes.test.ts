import { expect, test } from 'vitest';
import { createScopePolicy } from '../../src/auth/principal.ts';
import type { Why } from '../../src/auth/refusal.ts';
import { LASTING } from '../support/principal.ts';

const caller = (...scopes: string[]) => ({
  issuer: 'https://issuer.test',
  actor: 'robot',
  owner: 'alice',
  scopes: new Set(scopes),
  validity: LASTING,
});

test('refusals are told, with who it was', () => {
  const decisions: (Why | undefined)[] = [];
  const policy = createScopePolicy([], (decision) => decisions.push(decision));
  expect(() => policy.require(caller(), 'plants:audit')).toThrow(expect.objectContaining({ subject: 'robot' }));
  policy.require(caller('plants:audit'), 'plants:audit');
  expect(decisions).toEqual(['insufficient_scope']);
});
