import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseJson } from '../../client/json.ts';

/** JSON.stringify, with bigint as an integer of JSON. */
const stringify = (value: unknown): string =>
  JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? JSON.rawJSON(`${part}`) : part));

const VALUES = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
    fc.bigInt(-999n, 999n),
    fc.double({ noInteger: true, noNaN: true, noDefaultInfinity: true }),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('s', 'n', 'n1', '"', '\\', '\\"', '"1"', ':', '":', null, true, false),
    fc.array(tie('value')),
    fc.dictionary(fc.string({ unit: 'binary' }), tie('value'), { noNullPrototype: true }),
  ),
})).value;

/** What a careless expression reads in quadratic time. */
const UNENDED = `"${'\\"'.repeat(500_000)}`;

test('keeps each digit of an integer, and all else as it is', () => {
  fc.assert(
    fc.property(VALUES, (value) => {
      expect(parseJson(stringify(value))).toEqual(value);
    }),
  );
});

test('takes white space, and numbers in every form', () => {
  expect(parseJson(' { "a" : -1 ,\n"b":[ 1.5e3, 1E2, -0.25, 9007199254740993 ] } ')).toEqual({
    a: -1n,
    b: [1500, 100, -0.25, 9007199254740993n],
  });
});

test.each(['', '{', '[1,]', '"', '01', '[1 2]', UNENDED, `[9007199254740993,${UNENDED}`])('refuses %#', (text) => {
  expect(() => parseJson(text)).toThrow(SyntaxError);
});
