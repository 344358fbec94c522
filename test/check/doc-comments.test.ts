import { expect, test } from 'vitest';
import { ALL_FOLDERS, parseSource, readSources, type SourceFile } from '../support/source.ts';

/** Exports that no doc comment stands right in front of. What is exported from another file is documented there. */
function undocumented({ path, text, parsed: { program, comments } }: SourceFile): string[] {
  const documented = (start: number) =>
    comments.some(
      ({ type, value, end }) => type === 'Block' && value.startsWith('*') && !text.slice(end, start).trim(),
    );
  return program.body
    .filter((node) => node.type === 'ExportNamedDeclaration' || node.type === 'ExportDefaultDeclaration')
    .filter((node) => node.type === 'ExportDefaultDeclaration' || (node.declaration && !node.source))
    .filter((node) => !documented(node.start))
    .map((node) => `${path}: ${text.slice(node.start, node.end).split('\n', 1)[0]}`);
}

test('every exported symbol says what it promises', () => {
  expect(readSources([...ALL_FOLDERS, 'client']).flatMap(undocumented)).toEqual([]);
});

test.each([
  ['export const a = 1;', 1],
  ['/* no doc */ export class A {}', 1],
  ['// no doc\nexport function a() {}', 1],
  ['/** Of another. */ const b = 1; export interface A {}', 1],
  ['export default 1;', 1],
  ['/** Doc. */\nexport const a = 1;\n/** Doc. */\nexport type A = number;', 0],
  ["export { a } from './a.ts'; export type * from './b.ts'; const c = 1;", 0],
])('a missing doc comment is found: %s', (text, missing) => {
  expect(undocumented(parseSource('src/a.ts', text))).toHaveLength(missing);
});

/** The formatter breaks lines of code, and none of comments. */
const WIDTH = 120;

const isComment = (line: string): boolean => /^\s*(\/?\*|\/\/)/.test(line);

test('no line of a comment is longer than one of code', () => {
  // What is built from them is indented more.
  const written = readSources([...ALL_FOLDERS, 'client']).filter(({ path }) => !path.startsWith('client/dist/'));
  const long = written.flatMap(({ path, text }) =>
    text
      .split('\n')
      .filter((line) => isComment(line) && line.length > WIDTH)
      .map((line) => `${path}: ${line}`),
  );
  expect(long, 'break these lines by hand: npm run format does not').toEqual([]);
});
