import fc from 'fast-check';
import { hashOf } from '../../src/log/event/chain.ts';
import { decode } from '../../src/log/event/decode.ts';
import type { Head, LoggedEvent } from '../../src/log/event/event.ts';
import { sha256 } from '../../src/tlog/hash.ts';
import { bytesIn, field, fieldsOf, messageOf, replaced, type WireField } from './wire.ts';

/** Fields that this release does not know, of the messages of an event, each in ascending order of number. */
export interface UnknownFields {
  readonly event?: readonly WireField[];
  readonly content?: readonly WireField[];
  readonly data?: readonly WireField[];
}

/** Numbers in Event and Content of `commitment`, and of the data of each type. */
const COMMITMENT = 5;
const DATA: Readonly<Record<LoggedEvent['type'], number | undefined>> = {
  PlantAdded: 7,
  PlantDeleted: 8,
  OwnerErased: undefined,
};

/** The event as a later release would have written it after a head: with these fields too. It must have content. */
export function extended(logged: LoggedEvent, unknown: UnknownFields, head: Pick<Head, 'hash'>): LoggedEvent {
  const number = DATA[logged.type];
  const known = logged.content!;
  const data = number && field(number, messageOf([...fieldsOf(bytesIn(known, number)), ...(unknown.data ?? [])]));
  const said = data ? replaced(known, number!, data) : known;
  const content = messageOf([...fieldsOf(said), ...(unknown.content ?? [])]);
  const committed = replaced(logged.bytes, COMMITMENT, field(COMMITMENT, sha256(content)));
  const bytes = messageOf([...fieldsOf(committed), ...(unknown.event ?? [])]);
  return decode({ bytes, hash: hashOf(head.hash, { bytes }), content, erasedBy: undefined });
}

const fixed = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => ({ fixed: bytes }));

const unknownArbitrary = fc
  .array(
    fc.tuple(
      fc.integer({ min: 10, max: 14 }),
      fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.uint8Array(), fixed(4), fixed(8)),
    ),
    { maxLength: 5 },
  )
  .map((fields) => fields.toSorted(([a], [b]) => a - b).map(([number, value]) => field(number, value)));

/** Any fields that this release does not know, one at least. */
export const unknownFieldsArbitrary: fc.Arbitrary<Required<UnknownFields>> = fc
  .record({ event: unknownArbitrary, content: unknownArbitrary, data: unknownArbitrary })
  .filter(({ event, content, data }) => event.length + content.length + data.length > 0);
