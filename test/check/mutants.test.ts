import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MUTANTS } from '../simulation/mutants/mutants.ts';

test('each mutant of the simulation changes a text that its file has once', () => {
  const stale = MUTANTS.filter(({ file, from }) => readFileSync(`src/${file}`, 'utf8').split(from).length !== 2);
  expect(stale.map(({ what }) => what)).toEqual([]);
});
