import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SETTINGS } from '../../src/settings.ts';

test('docs/configuration.md has every setting once, in the order, with the default and in the words of the code', () => {
  const rows = readFileSync('docs/configuration.md', 'utf8')
    .matchAll(/^\| `([A-Z_]+)` +\| (.*?) +\| (.*?) +\|/gm)
    .map(([, ...cells]) => cells);
  const settings = Object.entries(SETTINGS).map(([name, { fallback, meaning }]) => [
    name,
    fallback || 'unset',
    meaning,
  ]);
  expect([...rows]).toEqual(settings);
});
