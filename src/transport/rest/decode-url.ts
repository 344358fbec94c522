import type { DescField } from '@bufbuild/protobuf';
import { type FieldType, invalidField, isOptional, toInteger, typeOf } from './field-type.ts';

/** A decimal integer of at most 19 digits, after any zeros. */
const DECIMAL = /^-?0*\d{1,19}$/;

/** Reads a field from the text of a path segment or a query parameter (already percent-decoded). Throws INVALID_FIELD. */
export type TextDecoder = (text: string) => unknown;

/** Makes the function that reads a field from text. */
export function compileTextDecoder(field: DescField): TextDecoder {
  const type = typeOf(field);
  if (type.kind === 'string') return (text) => text;
  if (type.kind === 'enum') return enumDecoder(type.values, field.name);
  if (type.kind !== 'integer') throw new Error(`REST has no form for ${field} in a URL`);
  return (text) => toInteger(type, DECIMAL.test(text) ? BigInt(text) : undefined, field.name);
}

function enumDecoder(values: ReadonlyMap<string, number>, name: string): TextDecoder {
  const allowed = [...values.keys()].join(' or ');
  return (text) => {
    const value = values.get(text);
    if (value === undefined) throw invalidField(name, allowed);
    return value;
  };
}

/** Parsed query: a parameter that is there more than once has all its values. */
export type Query = Readonly<Record<string, string | string[] | undefined>>;

const zeroOf = (type: FieldType): unknown => (type.kind === 'integer' ? type.zero : type.kind === 'enum' ? 0 : '');

/** Makes the function that reads a field from the query. An absent parameter leaves an `optional` field unset, and any other at its default. */
export function compileQueryDecoder(field: DescField): (query: Query) => unknown {
  const decode = compileTextDecoder(field);
  const type = typeOf(field);
  const absent = isOptional(field) ? undefined : zeroOf(type);
  const { jsonName } = field;
  return (query) => {
    const value = query[jsonName];
    if (value === undefined) return absent;
    if (typeof value !== 'string') throw invalidField(field.name, 'given once');
    return decode(value);
  };
}
