import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { isOptional, typeOf } from './field-type.ts';

/** Writes a value as JSON. */
export type Encoder<Value> = (value: Value) => string;

/** Anything that has the fields of a message, under their local names. What else it has is not looked at. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * Makes the function that writes a message as a JSON object: its fields in their order, without those that are unset, and without the
 * `hidden` ones, by their local names.
 */
export function compileEncoder(message: DescMessage, hidden: readonly string[] = []): Encoder<Fields> {
  const shown = message.fields.filter(({ localName }) => !hidden.includes(localName));
  const fields = shown.map((field) => ({
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
    case 'enum':
    case 'messages':
      throw new Error(`REST has no form for ${field} inside a message`);
    case 'message':
      return compileEncoder(type.message) as Encoder<unknown>;
  }
}

/** Writes rows as a JSON array. */
export function encodeArray<Row>(rows: readonly Row[], encode: Encoder<Row>): string {
  let text = '[';
  for (let index = 0; index < rows.length; index++) text += (index === 0 ? '' : ',') + encode(rows[index]!);
  return `${text}]`;
}
