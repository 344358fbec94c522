import { expect, test } from 'vitest';
import { superLinear } from '../../support/expressions.ts';
import { ALL_FOLDERS, readSources } from '../../support/source.ts';

test('every regular expression takes linear time, whatever the text', { timeout: 300_000 }, () => {
  const files = readSources(ALL_FOLDERS);
  expect(files.length).toBeGreaterThan(20);
  expect(files.flatMap(superLinear)).toEqual([]);
});
