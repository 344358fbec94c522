import { Readable } from 'node:stream';
import type { DescMessage } from '@bufbuild/protobuf';
import { isOptional, typeOf } from './http-rule.ts';

/** Writes a value as JSON. */
export type Encoder<Value> = (value: Value) => string;

/** An object with the fields of a message under their local names. Other members are ignored. */
export type Fields = Readonly<Record<string, unknown>>;

/** Compiles what writes a message in JSON: fields in order, without unset ones and those in `hidden`. */
export function compileEncoder(message: DescMessage, hidden: readonly string[] = []): Encoder<Fields> {
  const shown = message.fields.filter(({ localName }) => !hidden.includes(localName));
  const fields = shown.map((field) => ({
    localName: field.localName,
    prefix: `${JSON.stringify(field.jsonName)}:`,
    encode: typeOf(field).kind === 'string' ? JSON.stringify : String,
    optional: isOptional(field),
  }));
  return (value) => {
    let text = '';
    for (const { localName, prefix, encode, optional } of fields) {
      const field = value[localName];
      if (optional && field === undefined) continue;
      text += text === '' ? prefix : `,${prefix}`;
      text += encode(field);
    }
    return `{${text}}`;
  };
}

/** Writes rows as a JSON array. */
export function encodeArray<Row>(rows: readonly Row[], encode: Encoder<Row>): string {
  let text = '[';
  for (let index = 0; index < rows.length; index++) text += (index === 0 ? '' : ',') + encode(rows[index]!);
  return `${text}]`;
}

/** Characters of one piece of the array, so that neither memory nor a turn of the event loop grows with the array. */
const PIECE_LENGTH = 64 * 1024;

/** A JSON array of rows that come in batches, as fast as it is read. An error destroys it before the last `]`. */
export const arrayStream = <Row>(batches: AsyncIterable<readonly Row[]>, encode: Encoder<Row>): Readable =>
  Readable.from(piecesOf(batches, encode), { objectMode: false, highWaterMark: PIECE_LENGTH });

async function* piecesOf<Row>(batches: AsyncIterable<readonly Row[]>, encode: Encoder<Row>): AsyncGenerator<string> {
  let text = '[';
  let separator = '';
  for await (const batch of batches)
    for (const row of batch) {
      text += separator + encode(row);
      separator = ',';
      if (text.length < PIECE_LENGTH) continue;
      yield text;
      text = '';
    }
  yield `${text}]`;
}
