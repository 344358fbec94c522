import { create, type DescMessage, type MessageInitShape, toBinary, toJsonString } from '@bufbuild/protobuf';
import fc from 'fast-check';
import {
  GetHeadRequestSchema,
  GetHistoryRequestSchema,
  ListPlantsAsOfRequestSchema,
  ReadEventsRequestSchema,
  VerifyLogRequestSchema,
} from '../../../../gen/plantstore/v1/audit_service_pb.ts';
import {
  CreatePlantRequestSchema,
  DeletePlantRequestSchema,
  GetReceiptRequestSchema,
  ListPlantsRequestSchema,
  StreamPlantsRequestSchema,
} from '../../../../gen/plantstore/v1/plant_store_service_pb.ts';
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

const messageArbitrary = <Desc extends DescMessage>(desc: Desc, init: fc.Arbitrary<MessageInitShape<Desc>>) =>
  init.map((value): FuzzMessage => ({ desc, message: create(desc, value) }));

const positionArbitrary = fc.bigInt({ min: -3n, max: 200n });

/** Full names of the methods, and what they take. */
export const METHODS: Readonly<Record<string, fc.Arbitrary<FuzzMessage>>> = {
  'plantstore.v1.PlantStoreService/CreatePlant': messageArbitrary(
    CreatePlantRequestSchema,
    fc.record({ plant: newPlantArbitrary }, { requiredKeys: [] }),
  ),
  'plantstore.v1.PlantStoreService/DeletePlant': messageArbitrary(
    DeletePlantRequestSchema,
    fc.record({ id: idArbitrary }),
  ),
  'plantstore.v1.PlantStoreService/ListPlants': messageArbitrary(
    ListPlantsRequestSchema,
    fc.record({ limit: fc.integer({ min: -1, max: 50 }), cursor: cursorArbitrary }, { requiredKeys: [] }),
  ),
  'plantstore.v1.PlantStoreService/StreamPlants': messageArbitrary(
    StreamPlantsRequestSchema,
    fc.record({ cursor: cursorArbitrary }),
  ),
  'plantstore.v1.PlantStoreService/GetReceipt': messageArbitrary(
    GetReceiptRequestSchema,
    fc.record({ position: positionArbitrary }),
  ),
  'plantstore.v1.AuditService/GetHead': messageArbitrary(GetHeadRequestSchema, fc.constant({})),
  'plantstore.v1.AuditService/ReadEvents': messageArbitrary(
    ReadEventsRequestSchema,
    fc.record({
      start: fc.record({ case: fc.constant('afterPosition' as const), value: positionArbitrary }),
      follow: fc.boolean(),
    }),
  ),
  'plantstore.v1.AuditService/ListPlantsAsOf': messageArbitrary(
    ListPlantsAsOfRequestSchema,
    fc.record({
      owner: textArbitrary,
      asOf: fc.record({ case: fc.constant('position' as const), value: positionArbitrary }),
    }),
  ),
  'plantstore.v1.AuditService/GetHistory': messageArbitrary(
    GetHistoryRequestSchema,
    fc.record({ owner: textArbitrary, plantId: idArbitrary }),
  ),
  'plantstore.v1.AuditService/VerifyLog': messageArbitrary(
    VerifyLogRequestSchema,
    fc.record({ checkpoint: strangeArbitrary }),
  ),
};

/** A method and a message that it takes, or that another one does. */
export const callArbitrary = fc.tuple(fc.constantFrom(...Object.keys(METHODS)), fc.nat(19)).chain(([method, chance]) =>
  fc.record({
    method: fc.constant(method),
    sent: chance === 0 ? fc.oneof(...Object.values(METHODS)) : METHODS[method]!,
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
