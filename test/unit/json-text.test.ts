import fc from 'fast-check';
import { expect, test } from 'vitest';
import { integerOf, JsonText } from '../../src/json/json-text.ts';

/** digits × 10^exponent as JSON, with the point moved to any place. */
const literal = fc
  .record({
    negative: fc.boolean(),
    digits: fc.bigInt({ min: 0n, max: 10n ** 25n }),
    exponent: fc.integer({ min: -30, max: 30 }),
    point: fc.nat(30),
    e: fc.constantFrom('e', 'E', 'e+'),
  })
  .map(({ negative, digits, exponent, point, e }) => {
    const all = digits.toString().padStart(point + 1, '0');
    const [whole, fraction] = [all.slice(0, all.length - point), all.slice(all.length - point)];
    const shift = exponent + point;
    const tail = shift === 0 ? '' : shift < 0 ? `e${shift}` : `${e}${shift}`;
    return {
      source: `${negative ? '-' : ''}${whole}${fraction && '.'}${fraction}${tail}`,
      digits: negative ? -digits : digits,
      exponent,
    };
  });

test('an integer is read exactly, in whatever way it is written, and nothing else is an integer', () => {
  fc.assert(
    fc.property(literal, ({ source, digits, exponent }) => {
      expect(() => JSON.parse(source)).not.toThrow();
      const scaled = digits * 10n ** BigInt(Math.max(exponent, 0));
      const divisor = 10n ** BigInt(Math.max(-exponent, 0));
      const value = scaled % divisor === 0n ? scaled / divisor : undefined;
      const short = value !== undefined && value > -(10n ** 19n) && value < 10n ** 19n;
      expect(integerOf(source)).toBe(short ? value : undefined);
    }),
    { numRuns: 1000 },
  );
});

/** A JSON text, and whether one of its objects names a member twice. */
interface Written {
  readonly json: string;
  readonly twice: boolean;
}

const plain = (json: string): Written => ({ json, twice: false });
const number = fc.oneof(
  literal.map(({ source }) => source),
  fc.maxSafeInteger().map(String),
  fc.constantFrom('0', '-0', '7', '7.5', '1e400', '9007199254740993', '9007199254740992', '7.0000000000000000001'),
);
// Names that are equal once they are read, whatever they look like, and those that objects have of themselves.
const name = fc.constantFrom('"id"', '"\\u0069d"', '"a\\"b"', '"\\\\"', '"7"', '"__proto__"', '"constructor"', '""');
const { value, object } = fc.letrec<{ value: Written; object: Written }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    number.map(plain),
    fc
      .string({ unit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ':', ',', '7', 'e', '.', '-', 'a') })
      .map((text) => plain(JSON.stringify(text))),
    fc.constantFrom('null', 'true', 'false', '{}', '[]').map(plain),
    fc.array(tie('value')).map((items) => ({
      json: `[${items.map(({ json }) => json).join(' , ')}]`,
      twice: items.some(({ twice }) => twice),
    })),
    tie('object'),
  ),
  object: fc.array(fc.tuple(name, tie('value')), { maxLength: 4 }).map((members) => ({
    json: `{${members.map(([key, { json }]) => `${key}: ${json}`).join(',')}}`,
    twice:
      members.some(([, { twice }]) => twice) || new Set(members.map(([key]) => JSON.parse(key))).size < members.length,
  })),
}));

test('a text is refused when one of its objects names a member twice, and only then', () => {
  fc.assert(
    fc.property(value, ({ json, twice }) => {
      if (twice) expect(() => new JsonText(json)).toThrow('names a member twice');
      else expect(new JsonText(json).value).toEqual(JSON.parse(json));
    }),
    { numRuns: 2000 },
  );
});

test('the integers among the members are those that JSON.parse tells the source of', () => {
  fc.assert(
    fc.property(
      object.filter(({ twice }) => !twice),
      ({ json }) => {
        const found = new Map<unknown, Map<string, string>>();
        const root = JSON.parse(json, function (this: unknown, key, read, context?: { source?: string }) {
          if (!found.has(this)) found.set(this, new Map());
          if (typeof read === 'number') found.get(this)!.set(key, context!.source!);
          return read;
        });
        const sources = found.get(root) ?? new Map<string, string>();
        const text = new JsonText(json);
        for (const member of ['id', 'a"b', '\\', '7', '', 'constructor', 'other']) {
          const source = sources.get(member);
          expect(text.integer(member)).toBe(source === undefined ? undefined : integerOf(source));
        }
      },
    ),
    { numRuns: 2000 },
  );
});

test('quoted are the numbers that a double does not hold exactly, and nothing else is changed', () => {
  fc.assert(
    fc.property(
      value.filter(({ twice }) => !twice),
      ({ json }) => {
        const expected = JSON.parse(json, (_, read, context?: { source?: string }) => {
          if (typeof read !== 'number') return read;
          const source = context!.source!;
          const fits = Number.isSafeInteger(read) ? integerOf(source) === BigInt(read) : Math.abs(read) < 2 ** 53;
          return fits ? read : (integerOf(source)?.toString() ?? source);
        });
        expect(JSON.parse(new JsonText(json).withInexactNumbersQuoted())).toEqual(expected);
      },
    ),
    { numRuns: 2000 },
  );
});

test.each([
  ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'not encoded in UTF-8'],
  ['a byte order mark', Buffer.from('\ufeff{}'), 'byte order mark'],
  ['nothing', '', 'not valid JSON'],
  ['a number with a leading zero', '{"id":07}', 'not valid JSON'],
])('refused: %s', (_, source, problem) => {
  expect(() => new JsonText(source)).toThrow(problem);
});

test('a text has a thousand values at most, as commas and brackets tell, and those in strings do not count', () => {
  const tooLarge = expect.objectContaining({ message: expect.stringContaining('over 1000 values') });
  for (const values of [
    (count: number) => `{"id":7,"deep":[${'0,'.repeat(count - 4)}0]}`,
    (count: number) => `{"id":7,"deep":[${'[],'.repeat(count - 4)}0]}`,
    (count: number) => `{"id":7,"deep":${'['.repeat(count - 2)}${']'.repeat(count - 2)}}`,
  ]) {
    expect(() => new JsonText(values(500))).not.toThrow();
    expect(() => new JsonText(values(1_100))).toThrow(tooLarge);
  }
  expect(() => new JsonText(`[${'0,'.repeat(998)}0]`)).not.toThrow();
  expect(() => new JsonText(`[${'0,'.repeat(1_000)}0]`)).toThrow(tooLarge);
  expect(new JsonText(`{"id":7,"name":"${',[{\\"'.repeat(5_000)}"}`).integer('id')).toBe(7n);
  // Also of what is no JSON: before it is read.
  expect(() => new JsonText('['.repeat(60_000))).toThrow(tooLarge);
});

test('nesting as deep as a body can be is read', () => {
  const depth = 900;
  expect(() => new JsonText(`{"id":7,"deep":${'['.repeat(depth)}${']'.repeat(depth)}}`)).not.toThrow();
  expect(new JsonText(`{"id":7.0,"deep":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`).integer('id')).toBe(7n);
});
