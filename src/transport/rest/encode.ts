import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { isOptional, typeOf } from './field-type.ts';

/** Writes a value as JSON. */
export type Encoder<Value> = (value: Value) => string;

/** Anything that has the fields of a message, under their local names. What else it has is not looked at. */
export type Fields = Readonly<Record<string, unknown>>;

/** Makes the function that writes a message as a JSON object: its fields in their order, without those that are unset. */
export function compileEncoder(message: DescMessage): Encoder<Fields> {
  const fields = message.fields.map((field) => ({
    localName: field.localName,
    prefix: `${JSON.stringify(field.jsonName)}:`,
    encode: valueEncoder(field),
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

function valueEncoder(field: DescField): Encoder<unknown> {
  const type = typeOf(field);
  switch (type.kind) {
    case 'string':
      return JSON.stringify;
    case 'integer':
      return String;
    case 'message':
      return compileEncoder(type.message) as Encoder<unknown>;
    case 'messages':
      throw new Error(`REST has no form for ${field} inside another message`);
  }
}

/** Writes rows as a JSON array. */
export function encodeArray<Row>(rows: readonly Row[], encode: Encoder<Row>): string {
  let text = '[';
  for (let index = 0; index < rows.length; index++) text += (index === 0 ? '' : ',') + encode(rows[index]!);
  return `${text}]`;
}
