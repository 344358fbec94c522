import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** A field of a message in protobuf's binary encoding: its number, and its bytes with the tag. */
export interface WireField {
  readonly number: number;
  readonly bytes: Uint8Array;
}

/** The value of a field: an int64 as a varint, 4 or 8 bytes as they are, texts and bytes with their length. */
export type WireValue = bigint | string | Uint8Array | { readonly fixed: Uint8Array };

/** A field. */
export function field(number: number, value: WireValue): WireField {
  const writer = new BinaryWriter();
  if (typeof value === 'bigint') writer.tag(number, WireType.Varint).int64(value);
  else if (typeof value === 'string') writer.tag(number, WireType.LengthDelimited).string(value);
  else if (value instanceof Uint8Array) writer.tag(number, WireType.LengthDelimited).bytes(value);
  else writer.tag(number, value.fixed.length === 4 ? WireType.Bit32 : WireType.Bit64).raw(value.fixed);
  return { number, bytes: writer.finish() };
}

/** A field of these bytes, whatever they are. */
export const raw = (number: number, ...bytes: readonly number[]): WireField => ({
  number,
  bytes: Uint8Array.from(bytes),
});

/** The fields of a message, in their order. */
export function fieldsOf(message: Uint8Array): WireField[] {
  const reader = new BinaryReader(message);
  const fields: WireField[] = [];
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [number, type] = reader.tag();
    reader.skip(type);
    fields.push({ number, bytes: message.subarray(start, reader.pos) });
  }
  return fields;
}

/** The message of these fields, in this order. */
export const messageOf = (fields: readonly WireField[]): Uint8Array => Buffer.concat(fields.map(({ bytes }) => bytes));

/** The message with other fields in the place of those of a number. */
export const replaced = (message: Uint8Array, number: number, ...fields: readonly WireField[]): Uint8Array => {
  const all = fieldsOf(message);
  const at = all.findIndex((each) => each.number >= number);
  const rest = all.filter((each) => each.number !== number);
  return messageOf(rest.toSpliced(at < 0 ? rest.length : at, 0, ...fields));
};

/** The value of a length-delimited field of a message. */
export function bytesIn(message: Uint8Array, number: number): Uint8Array {
  const found = fieldsOf(message).find((each) => each.number === number)!;
  const reader = new BinaryReader(found.bytes);
  reader.tag();
  return reader.bytes();
}
