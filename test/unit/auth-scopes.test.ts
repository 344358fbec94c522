import { expect, test } from 'vitest';
import type { Decision } from '../../src/auth/authenticator.ts';
import { createScopePolicy } from '../../src/auth/scopes.ts';
import { LASTING } from '../support/principal.ts';

const caller = (...scopes: string[]) => ({
  issuer: 'https://issuer.test',
  actor: 'robot',
  owner: 'alice',
  scopes: new Set(scopes),
  validity: LASTING,
});

test('a scope that is enforced has to be in the token', () => {
  const policy = createScopePolicy(['plants:write']);
  expect(() => policy.require(caller('plants:read', 'plants:writer'), 'plants:write')).toThrow(
    expect.objectContaining({
      reason: 'INSUFFICIENT_SCOPE',
      status: 403,
      message: 'the token lacks the scope that this call needs: plants:write',
      details: { challenge: 'Bearer realm="plantstore", error="insufficient_scope", scope="plants:write"' },
    }),
  );
  expect(() => policy.require(caller('plants:write'), 'plants:write')).not.toThrow();
});

test('a scope that is not enforced is not asked for', () => {
  expect(() => createScopePolicy(['plants:write']).require(caller(), 'plants:read')).not.toThrow();
});

test('audit always needs its scope', () => {
  const policy = createScopePolicy([]);
  expect(() => policy.require(caller('plants:read', 'plants:write'), 'plants:audit')).toThrow(/plants:audit/);
  expect(() => policy.require(caller('plants:audit'), 'plants:audit')).not.toThrow();
});

test('refusals are told, with who it was', () => {
  const decisions: Decision[] = [];
  const policy = createScopePolicy([], (decision) => decisions.push(decision));
  expect(() => policy.require(caller(), 'plants:audit')).toThrow();
  policy.require(caller('plants:audit'), 'plants:audit');
  expect(decisions).toEqual([
    { outcome: 'refused', reason: 'insufficient_scope', issuer: 'https://issuer.test', subject: 'robot' },
  ]);
});
