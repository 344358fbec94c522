import { expect, test } from 'vitest';
import { superLinear } from '../../support/expressions.ts';
import { ALL_FOLDERS, parseSource, readSources } from '../../support/source.ts';

test('every regular expression takes linear time, whatever the text', { timeout: 300_000 }, () => {
  const files = readSources(ALL_FOLDERS);
  expect(files.length).toBeGreaterThan(20);
  expect(files.flatMap(superLinear)).toEqual([]);
});

test.each([
  ['strings that do not end', String.raw`/"(?:[^"\\]|\\.)*"|-?\d+/g`],
  ['many beginnings in one run', String.raw`/\bey[\w-]+\.[\w-]+/g`],
  ['a run before what is looked behind for', String.raw`/(?<=\bBearer +)x/g`],
  ['spaces at the end', String.raw`/\s+$/`],
  ['two ways to read each character', '/^(a|a)*$/'],
  ['the same, looked ahead for', '/^(?=(a|a)*$)b/'],
  ['a run that is repeated', String.raw`/(?=x)(.*)=\1$/`],
  ['a pattern that is put together', "new RegExp('a*$')"],
  ['the same, called', "RegExp('a*$')"],
])('one that does not is found: %s', (_, expression) => {
  expect(superLinear(parseSource('src/x.ts', `const x = ${expression};`))).toEqual([
    expect.stringContaining('src/x.ts: '),
  ]);
});
