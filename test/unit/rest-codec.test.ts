import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NewPlantSchema } from '../../gen/plantstore/v1/plant_pb.ts';
import { compileEncoder } from '../../src/transport/rest/encode.ts';
import { compileBodyReader } from '../../src/transport/rest/request-reader.ts';

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;
const decode = compileBodyReader(NewPlantSchema);
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
