import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NewPlantSchema } from '../../gen/plantstore/v1/plant_pb.ts';
import { compileBodyDecoder } from '../../src/transport/rest/decode-body.ts';
import { compileEncoder } from '../../src/transport/rest/encode.ts';
import { integerOf, numberSources } from '../../src/transport/rest/json-number.ts';

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;
const decode = compileBodyDecoder(NewPlantSchema, 'plant');
const encode = compileEncoder(NewPlantSchema);

const int64 = fc.oneof(
  fc.bigInt({ min: MIN, max: MAX }),
  fc.constantFrom(MIN, MAX, 0n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n),
);
const text = fc.string({ unit: 'binary' });
const plant = fc.record({ id: int64, name: text, tag: text }, { requiredKeys: ['id', 'name'] });

test('a message that was written reads back the same', () => {
  fc.assert(
    fc.property(plant, (fields) => {
      const written = encode(fields);
      expect(decode(Buffer.from(written))).toEqual({ $typeName: 'plantstore.v1.NewPlant', ...fields });
      const { id, ...rest } = fields;
      expect(JSON.parse(written)).toEqual({ id: Number(id), ...rest });
    }),
  );
});

test('members in any order, with others among them and any spaces between, read the same', () => {
  const padded = fc.array(fc.constantFrom(' ', '\n', '\t', '\r')).map((spaces) => spaces.join(''));
  const others = fc.dictionary(
    text.filter((name) => !['id', 'name', 'tag'].includes(name)),
    fc.jsonValue({ maxDepth: 3 }),
  );
  fc.assert(
    fc.property(plant, others, padded, fc.infiniteStream(fc.nat()), (fields, more, space, random) => {
      const members = Object.entries({ ...more, ...fields })
        .map(([name, value]) => [
          JSON.stringify(name),
          typeof value === 'bigint' ? String(value) : JSON.stringify(value),
        ])
        .map((member) => ({ text: member.join(`${space}:${space}`), at: random.next().value as number }))
        .sort((a, b) => a.at - b.at);
      const body = `${space}{${space}${members.map((member) => member.text).join(`${space},${space}`)}${space}}${space}`;
      expect(decode(Buffer.from(body))).toEqual({ $typeName: 'plantstore.v1.NewPlant', ...fields });
    }),
  );
});

describe('numbers', () => {
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

  test('the sources of numbers are those that JSON.parse tells', () => {
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        literal.map(({ source }) => source),
        fc
          .string({ unit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ':', ',', '7', 'e', '.', '-', 'a') })
          .map((s) => JSON.stringify(s)),
        fc.constantFrom('null', 'true', 'false', '{}', '[]'),
        fc.array(tie('value')).map((items) => `[${items.join()}]`),
        tie('object'),
      ),
      object: fc
        .array(fc.tuple(fc.constantFrom('id', 'a"b', '\\', '7', '__proto__', ''), tie('value')))
        .map((members) => `{${members.map(([name, member]) => `${JSON.stringify(name)}:${member}`).join()}}`),
    }));
    fc.assert(
      fc.property(value.object as fc.Arbitrary<string>, (json) => {
        const found = new Map<unknown, Map<string, string>>();
        const root = JSON.parse(json, function (this: unknown, key, read, context?: { source?: string }) {
          if (!found.has(this)) found.set(this, new Map());
          if (typeof read === 'number') found.get(this)!.set(key, context!.source!);
          return read;
        });
        const sources = numberSources(json);
        for (const [name, source] of found.get(root) ?? []) expect(sources.get(name)).toBe(source);
      }),
      { numRuns: 1000 },
    );
  });
});
