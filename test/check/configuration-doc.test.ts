import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { VARIABLES } from '../../src/config-variables.ts';

test('docs/configuration.md names every setting once, in the order of the code, with its default', () => {
  const rows = readFileSync('docs/configuration.md', 'utf8')
    .matchAll(/^\| `([A-Z_]+)` +\| (.*?) +\|/gm)
    .map(([, name, fallback]) => [name, fallback]);
  const variables = Object.entries(VARIABLES).map(([name, variable]) => [
    name,
    ('fallback' in variable && variable.fallback) || 'unset',
  ]);
  expect([...rows]).toEqual(variables);
});
