import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SETTINGS } from '../../src/settings.ts';

test('docs/configuration.md has every setting once, in the order and with the default of the code, and says what it means', () => {
  const rows = readFileSync('docs/configuration.md', 'utf8')
    .matchAll(/^\| `([A-Z_]+)` +\| (.*?) +\| (.*?) +\|/gm)
    .map(([, ...cells]) => cells);
  const settings = Object.entries(SETTINGS).map(([name, { fallback }]) => [
    name,
    fallback || 'unset',
    expect.stringMatching(/^\S.*\.$/),
  ]);
  expect([...rows]).toEqual(settings);
});
