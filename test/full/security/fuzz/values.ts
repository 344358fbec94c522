import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  ScalarType,
  toBinary,
  toJsonString,
} from '@bufbuild/protobuf';
import { TimestampSchema, timestampFromMs } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { AuditService } from '../../../../gen/plantstore/v1/audit_service_pb.ts';
import { PlantStoreService } from '../../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { encodeCursor } from '../../../../src/plants/pages.ts';
import { int64Arbitrary, textArbitrary } from '../../../support/arbitraries.ts';

/** Once in `times`; undefined otherwise. */
export const seldom = <Value>(arbitrary: fc.Arbitrary<Value>, times: number): fc.Arbitrary<Value | undefined> =>
  fc.oneof({ weight: times - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

/** Few ids, so that adds and deletes meet, and any. */
export const idArbitrary = fc.oneof(fc.bigInt({ min: 0n, max: 49n }), int64Arbitrary);

/** What names and tags may be, their bounds and beyond. */
const wideTextArbitrary = fc.oneof(
  { weight: 8, arbitrary: textArbitrary },
  { weight: 1, arbitrary: fc.constantFrom('x'.repeat(1_024), '🌱'.repeat(1_024), 'x'.repeat(1_025)) },
);

const newPlantArbitrary = fc.record({
  id: idArbitrary,
  name: wideTextArbitrary,
  tag: fc.option(wideTextArbitrary, { nil: undefined }),
});

/** A cursor that is one, nearly one, or none. */
export const cursorArbitrary = fc.oneof(
  fc.constant(''),
  idArbitrary.map(encodeCursor),
  fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
  fc.string({ maxLength: 12 }),
);

/** What stands where nothing of the kind should. */
export const strangeArbitrary = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'toString', '../../../etc/passwd', '$gt', '-0', '1e400', '07', 'NaN'),
  fc.constantFrom('9223372036854775808', '-9223372036854775809', `1${'0'.repeat(500)}`, '\u0000', '\r\nX: y', '%'),
  fc.string({ unit: 'binary', maxLength: 20 }),
);

/** The body of POST /plants: right, or with a member that is missing, doubled, of another type or of another name. */
const plantJsonArbitrary = fc
  .record({
    plant: newPlantArbitrary,
    member: seldom(fc.constantFrom('id', 'name', 'tag', '__proto__', 'constructor', 'x'), 2),
    value: fc.oneof(
      fc.jsonValue().map((value) => JSON.stringify(value)),
      strangeArbitrary.map((value) => JSON.stringify(value)),
      fc.constantFrom('7.5', '1e400', '9223372036854775808', '{"$gt":""}', '\\ud800', '"\\ud800"', '['.repeat(5_000)),
    ),
    first: fc.boolean(),
  })
  .map(({ plant: { id, name, tag }, member, value, first }) => {
    const right = [`"id":${id}`, `"name":${JSON.stringify(name)}`];
    if (tag !== undefined) right.push(`"tag":${JSON.stringify(tag)}`);
    if (member === undefined) return `{${right.join()}}`;
    const wrong = `"${member}":${value}`;
    return `{${(first ? [wrong, ...right] : [...right, wrong]).join()}}`;
  });

/** A message of the API. */
export interface FuzzMessage {
  readonly desc: DescMessage;
  readonly message: object;
}

const valueArbitrary = (field: DescField): fc.Arbitrary<unknown> => {
  if (field.fieldKind === 'message')
    return field.message.typeName === TimestampSchema.typeName
      ? fc.integer({ min: 0 }).map(timestampFromMs)
      : initArbitrary(field.message);
  if (field.fieldKind === 'enum') return fc.constantFrom(...field.enum.values.map(({ number }) => number));
  if (field.scalar === ScalarType.BOOL) return fc.boolean();
  if (field.scalar === ScalarType.INT64) return idArbitrary;
  return field.scalar === ScalarType.INT32
    ? fc.integer({ min: -1, max: 50 })
    : fc.oneof(wideTextArbitrary, cursorArbitrary);
};

/** Any members that a message may have. */
const initArbitrary = ({ members }: DescMessage): fc.Arbitrary<object> =>
  fc.record(
    Object.fromEntries(
      members.map((member) => [
        member.localName,
        member.kind === 'field'
          ? valueArbitrary(member)
          : fc.oneof(
              ...member.fields.map((field) => valueArbitrary(field).map((value) => ({ case: field.localName, value }))),
            ),
      ]),
    ),
    { requiredKeys: [] },
  );

const METHODS: readonly DescMethod[] = [...PlantStoreService.methods, ...AuditService.methods];

const sentArbitrary = ({ input }: DescMethod): fc.Arbitrary<FuzzMessage> =>
  initArbitrary(input).map((init) => ({ desc: input, message: create(input, init as never) }));

/** A method, whether it always ends, and a message that it takes, or that another one does. */
export const callArbitrary = fc.tuple(fc.constantFrom(...METHODS), fc.nat(19)).chain(([method, chance]) =>
  fc.record({
    method: fc.constant(`${method.parent.typeName}/${method.name}`),
    ends: fc.constant(!/^(ReadEvents|WatchPlants)$/.test(method.name)),
    sent: chance === 0 ? fc.oneof(...METHODS.map(sentArbitrary)) : sentArbitrary(method),
  }),
);

/** The binary form of a message. */
export const binaryOf = ({ desc, message }: FuzzMessage): Buffer => Buffer.from(toBinary(desc, message as never));

/** The JSON form of a message. */
export const jsonOf = ({ desc, message }: FuzzMessage): Buffer => Buffer.from(toJsonString(desc, message as never));

/** Any body: of POST /plants, or of any kind. */
export const bodyArbitrary: fc.Arbitrary<Buffer> = fc.oneof(
  { weight: 8, arbitrary: plantJsonArbitrary.map((text) => Buffer.from(text)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)) },
  { weight: 1, arbitrary: fc.json().map((text) => Buffer.from(text)) },
);

/** Changes to bytes: cut short, a stretch left out, doubled or overwritten. */
export const mutationArbitrary: fc.Arbitrary<(bytes: Buffer) => Buffer> = fc
  .record({
    kind: fc.constantFrom('cut', 'leave out', 'double', 'overwrite', 'insert'),
    at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    length: fc.integer({ min: 1, max: 16 }),
    noise: fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
      fc.constantFrom('\r\n', '\r\n\r\n', '\n', '\0', ':', ' ', '\r\n0\r\n\r\n', 'GET / HTTP/1.1\r\n').map(Buffer.from),
    ),
  })
  .map(({ kind, at, length, noise }) => (bytes: Buffer) => {
    const start = Math.floor(at * bytes.length);
    const [before, stretch] = [bytes.subarray(0, start), bytes.subarray(start, start + length)];
    const after = bytes.subarray(start + length);
    if (kind === 'cut') return before;
    if (kind === 'leave out') return Buffer.concat([before, after]);
    if (kind === 'double') return Buffer.concat([before, stretch, stretch, after]);
    if (kind === 'overwrite') return Buffer.concat([before, noise, after]);
    return Buffer.concat([before, noise, stretch, after]);
  });
